// Never run: see bindings/android/README.md. Run ../build-library first.
plugins {
    id("com.android.library")
    `maven-publish`
}

group = "commute"
version = "0.1.0"

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
    sourceSets["main"].java.srcDir("../../okhttp/library/src/main/java")
    publishing {
        singleVariant("release") {
            withSourcesJar()
            withJavadocJar()
        }
    }
}

dependencies {
    // The app's own, 4.12 or later.
    compileOnly("com.squareup.okhttp3:okhttp:5.5.1")
}

// Without the native libraries every request would go plainly, which is hard to notice.
val requireNativeLibraries by tasks.registering {
    val folder = layout.projectDirectory.dir("src/main/jniLibs").asFile
    doLast {
        require(folder.isDirectory) { "$folder is missing: run bindings/android/build-library" }
    }
}
tasks.named("preBuild") { dependsOn(requireNativeLibraries) }

publishing {
    publications {
        register<MavenPublication>("release") {
            artifactId = "client-android"
            afterEvaluate { from(components["release"]) }
        }
    }
}
