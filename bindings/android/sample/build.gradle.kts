// Never run: see bindings/android/README.md.
plugins {
    id("com.android.application")
}

android {
    namespace = "commute.sample"
    compileSdk = 36
    defaultConfig {
        applicationId = "commute.sample"
        minSdk = 26
        targetSdk = 36
        versionCode = 1
        versionName = "0.1.0"
    }
    buildTypes {
        release {
            // So that the library's rules for R8 are put to the test.
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
            signingConfig = signingConfigs.getByName("debug")
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

dependencies {
    implementation(project(":library"))
    implementation("com.squareup.okhttp3:okhttp:5.5.1")
}
