// Never run: see README.md. Run build-library first.
plugins {
    id("com.android.library")
}

android {
    namespace = "commute.android"
    compileSdk = 36
    defaultConfig {
        minSdk = 26
        consumerProguardFiles("consumer-rules.pro")
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    sourceSets["main"].java.srcDir("../okhttp/library/src/main/java")
}

dependencies {
    // The app's own, 4.12 or later.
    compileOnly("com.squareup.okhttp3:okhttp:5.5.1")
}
