plugins {
    id("com.android.application") version "8.7.3"
}

android {
    namespace = "commute.android"
    compileSdk = 35

    defaultConfig {
        applicationId = "commute.android"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "1"
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }

    // The engine and the OkHttp adapter of the JVM driver. Android includes org.json and Conscrypt.
    sourceSets["main"].java.srcDirs("../jvm/engine/src/main/java", "../jvm/okhttp/src/main/java")
}

dependencies {
    implementation("com.squareup.okhttp3:okhttp:5.5.1")
}
