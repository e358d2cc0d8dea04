import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes that tell clients how a project is set up (docs/protocols/firebase.md §6).
struct ProjectRoutes {
    func mount(on paths: Firebase.Paths) {
        paths.on(.project) { _, _, application in
            let origins = application.loaded.application.settings.allowedOrigins
            let hosts = origins.compactMap { $0.split(separator: "/").last.map { String($0.prefix { $0 != ":" }) } }
            return .google([
                "projectId": .string(application.projectID),
                "authorizedDomains": .array((["localhost"] + hosts).map(JSONValue.string)),
            ])
        }
        paths.on(.recaptcha) { _, _, application in
            // The SDK for the web reads the part of the key after the third slash.
            .google([
                "recaptchaKey": .string("projects/\(application.projectID)/keys/off"),
                "recaptchaEnforcementState": .array([
                    .object(["provider": .string("EMAIL_PASSWORD_PROVIDER"), "enforcementState": .string("OFF")])
                ]),
            ])
        }
        paths.on(.passwordPolicy) { _, _, application in
            let rules = application.loaded.application.settings.passwords
            return .google([
                "customStrengthOptions": .object([
                    "minPasswordLength": .integer(rules.minLength), "maxPasswordLength": .integer(256),
                ]),
                "enforcementState": .string("ENFORCE"), "schemaVersion": .integer(1),
            ])
        }
    }
}
