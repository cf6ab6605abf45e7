package commute.client;

import javax.net.ssl.HandshakeCompletedListener;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** The settings of a TLS socket whose handshake the engine does. What the engine does not follow is ignored. */
abstract class ClientSslSocket extends SSLSocket {
    private SSLParameters parameters;

    ClientSslSocket(SSLParameters parameters) {
        this.parameters = parameters;
    }

    @Override
    public SSLParameters getSSLParameters() {
        return parameters;
    }

    @Override
    public void setSSLParameters(SSLParameters parameters) {
        this.parameters = parameters;
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return parameters.getCipherSuites();
    }

    @Override
    public String[] getEnabledCipherSuites() {
        return parameters.getCipherSuites();
    }

    @Override
    public void setEnabledCipherSuites(String[] suites) {}

    @Override
    public String[] getSupportedProtocols() {
        return parameters.getProtocols();
    }

    @Override
    public String[] getEnabledProtocols() {
        return parameters.getProtocols();
    }

    @Override
    public void setEnabledProtocols(String[] protocols) {}

    @Override
    public void addHandshakeCompletedListener(HandshakeCompletedListener listener) {}

    @Override
    public void removeHandshakeCompletedListener(HandshakeCompletedListener listener) {}

    @Override
    public void setUseClientMode(boolean client) {}

    @Override
    public boolean getUseClientMode() {
        return true;
    }

    @Override
    public void setNeedClientAuth(boolean need) {}

    @Override
    public boolean getNeedClientAuth() {
        return false;
    }

    @Override
    public void setWantClientAuth(boolean want) {}

    @Override
    public boolean getWantClientAuth() {
        return false;
    }

    @Override
    public void setEnableSessionCreation(boolean enable) {}

    @Override
    public boolean getEnableSessionCreation() {
        return true;
    }
}
