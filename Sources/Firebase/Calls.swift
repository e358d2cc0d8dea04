import Description
package import Encodings
import HTTP
import HTTPTypes
import PublicAPI

/// A call of Firebase's clients: the path, and the description in the OpenAPI document.
///
/// Google's own names are used (docs/protocols/firebase.md §2).
struct Call: Sendable {
    /// The beginning of the call's path.
    enum Version: Sendable {
        case first, second
        /// The first version, below a project; the credential is an access token.
        case project
        case secureToken

        var base: String {
            switch self {
            case .first: "/\(Firebase.toolkit)/v1/"
            case .second: "/\(Firebase.toolkit)/v2/"
            case .project: "/\(Firebase.toolkit)/v1/projects/{project}"
            case .secureToken: "/\(Firebase.secureToken)/v1/"
            }
        }
    }

    let method: HTTPRequest.Method
    let version: Version
    /// The path below that of the version.
    let path: String
    var fullPath: String { version.base + path }
    /// The name in the former version of the service; nil for none.
    let formerName: String?
    /// Makes the description, which only the OpenAPI document needs.
    let operation: @Sendable () -> Operation

    private init(
        _ method: HTTPRequest.Method,
        _ path: String,
        formerly formerName: String? = nil,
        version: Version = .first,
        _ operation: @autoclosure @escaping @Sendable () -> Operation
    ) {
        (self.method, self.version, self.path, self.formerName) = (method, version, path, formerName)
        self.operation = operation
    }

    // MARK: Logins

    static let signUp = Call(
        .post,
        "accounts:signUp",
        formerly: "signupNewUser",
        .google(
            "signUp",
            """
            Creates a guest, or registers a user with a password. With idToken, the user of the token gets the \
            password.
            """,
            takes: ["email": .string, "password": .string, "displayName": .string, "idToken": .string],
            gives: .signedIn
        )
    )

    static let signInWithPassword = Call(
        .post,
        "accounts:signInWithPassword",
        formerly: "verifyPassword",
        .google(
            "signInWithPassword",
            "Logs a user in by a password.",
            takes: ["email": .string, "password": .string],
            gives: .signedIn.adding(optional: .pending)
        )
    )

    static let signInWithIdp = Call(
        .post,
        "accounts:signInWithIdp",
        formerly: "verifyAssertion",
        .google(
            "signInWithIdp",
            "Logs a user in by a provider's credential. With idToken, the identity is linked to the user of the token.",
            takes: [
                "requestUri": .string, "sessionId": .string, "pendingToken": .string, "idToken": .string,
                "autoCreate": .boolean, "returnIdpCredential": .boolean,
                "postBody": .string.described(
                    "A form: providerId, and access_token, id_token, oauth_token_secret or nonce."
                ),
            ],
            gives: .signedIn.adding(optional: .pending).adding(optional: [
                "federatedId": .string, "providerId": .string, "rawUserInfo": .string, "isNewUser": .boolean,
                "oauthAccessToken": .string, "oauthIdToken": .string, "oauthTokenSecret": .string,
                "pendingToken": .string,
                "nonce": .string,
                "needConfirmation": .boolean, "errorMessage": .string,
            ])
        )
    )

    static let signInWithEmailLink = Call(
        .post,
        "accounts:signInWithEmailLink",
        formerly: "emailLinkSignin",
        .google(
            "signInWithEmailLink",
            "Logs a user in by a mailed link. With idToken, the user of the token gets the address as login name.",
            takes: ["email": .string, "oobCode": .string, "idToken": .string],
            gives: .signedIn.adding(optional: .pending)
        )
    )

    static let signInWithCustomToken = Call(
        .post,
        "accounts:signInWithCustomToken",
        formerly: "verifyCustomToken",
        .google(
            "signInWithCustomToken",
            "Logs a user in by a token that a service account of the project has signed.",
            takes: ["token": .string],
            gives: .tokens.adding(optional: ["kind": .string, "expiresIn": .string, "isNewUser": .boolean])
        )
    )

    static let token = Call(
        .post,
        "token",
        version: .secureToken,
        .google(
            "token",
            """
            Continues a session, and replaces its refresh token. The body may also be JSON, with the members grantType \
            and refreshToken.
            """,
            takes: ["grant_type": .string.const("refresh_token"), "refresh_token": .string],
            as: "application/x-www-form-urlencoded",
            gives: .anyObject.adding(
                optional: [
                    "access_token": .string, "expires_in": .string, "token_type": .string, "refresh_token": .string,
                    "id_token": .string, "user_id": .string, "project_id": .string,
                ]
            )
        )
    )

    // MARK: Accounts

    static let lookup = Call(
        .post,
        "accounts:lookup",
        formerly: "getAccountInfo",
        .google("lookup", "Returns the user of an ID token.", takes: ["idToken": .string], gives: .users)
    )

    static let update = Call(
        .post,
        "accounts:update",
        formerly: "setAccountInfo",
        .google(
            "update",
            """
            Changes the user of an ID token. With oobCode, carries out what the mailed code is for, such as the \
            confirmation of an address.
            """,
            takes: [
                "idToken": .string, "oobCode": .string, "email": .string, "password": .string,
                "displayName": .string, "photoUrl": .string, "deleteAttribute": .strings, "deleteProvider": .strings,
            ],
            gives: .signedIn.adding(optional: ["emailVerified": .boolean, "providerUserInfo": .array(of: .anyObject)])
        )
    )

    static let delete = Call(
        .post,
        "accounts:delete",
        formerly: "deleteAccount",
        .google("delete", "Deletes the user of an ID token.", takes: ["idToken": .string], gives: .kind)
    )

    static let createAuthUri = Call(
        .post,
        "accounts:createAuthUri",
        formerly: "createAuthUri",
        .google(
            "createAuthUri",
            """
            Begins a login in the dialog of providerId. Without providerId, returns a sessionId alone: no response \
            shows whether an address has an account.
            """,
            takes: [
                "identifier": .string, "continueUri": .string, "providerId": .string, "oauthScope": .string,
                "customParameter": .anyObject,
            ],
            gives: .kind.adding(optional: ["sessionId": .string, "authUri": .string, "providerId": .string])
        )
    )

    static let revokeToken = Call(
        .post,
        "accounts:revokeToken",
        version: .second,
        .google(
            "revokeToken",
            """
            Checks the ID token, and changes nothing. The service itself revokes a provider's tokens when it deletes \
            the user.
            """,
            takes: ["idToken": .string],
            gives: .anyObject
        )
    )

    // MARK: Mailed links

    static let sendOobCode = Call(
        .post,
        "accounts:sendOobCode",
        formerly: "getOobConfirmationCode",
        .google(
            "sendOobCode",
            "Mails a link that sets a new password, confirms or changes an address, or logs the user in.",
            takes: [
                "requestType": .oneOf("PASSWORD_RESET", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL", "EMAIL_SIGNIN"),
                "email": .string, "newEmail": .string, "idToken": .string, "continueUrl": .string,
            ],
            gives: .kind.adding(optional: ["email": .string])
        )
    )

    static let resetPassword = Call(
        .post,
        "accounts:resetPassword",
        formerly: "resetPassword",
        .google(
            "resetPassword",
            "Returns what a mailed code is for. With newPassword, sets the user's password.",
            takes: ["oobCode": .string, "newPassword": .string],
            gives: .kind.adding(optional: ["requestType": .string, "email": .string, "newEmail": .string])
        )
    )

    // MARK: Second factors

    static let startSecondFactor = Call(
        .post,
        "accounts/mfaSignIn:start",
        version: .second,
        .google(
            "startSecondFactor",
            "Sends a code for a login that waits for a second factor.",
            takes: ["mfaPendingCredential": .string, "mfaEnrollmentId": .string, "phoneSignInInfo": .anyObject],
            gives: .anyObject.adding(optional: ["phoneResponseInfo": .anyObject])
        )
    )

    static let finishSecondFactor = Call(
        .post,
        "accounts/mfaSignIn:finalize",
        version: .second,
        .google(
            "finishSecondFactor",
            "Finishes a login that waits for a second factor.",
            takes: [
                "mfaPendingCredential": .string, "mfaEnrollmentId": .string, "totpVerificationInfo": .anyObject,
                "phoneVerificationInfo": .anyObject,
            ],
            gives: .tokens
        )
    )

    static let startEnrolment = Call(
        .post,
        "accounts/mfaEnrollment:start",
        version: .second,
        .google(
            "startEnrolment",
            "Begins the enrolment of a second factor.",
            takes: ["idToken": .string, "totpEnrollmentInfo": .anyObject, "phoneEnrollmentInfo": .anyObject],
            gives: .anyObject.adding(optional: ["totpSessionInfo": .anyObject, "phoneSessionInfo": .anyObject])
        )
    )

    static let finishEnrolment = Call(
        .post,
        "accounts/mfaEnrollment:finalize",
        version: .second,
        .google(
            "finishEnrolment",
            "Enrols a second factor by its first code.",
            takes: ["idToken": .string, "totpVerificationInfo": .anyObject, "phoneVerificationInfo": .anyObject],
            gives: .tokens
        )
    )

    static let withdrawFactor = Call(
        .post,
        "accounts/mfaEnrollment:withdraw",
        version: .second,
        .google(
            "withdrawFactor",
            "Removes a second factor.",
            takes: ["idToken": .string, "mfaEnrollmentId": .string],
            gives: .tokens
        )
    )

    // MARK: Administration

    static let createAccount = Call(
        .post,
        "/accounts",
        version: .project,
        .administration("createAccount", "Creates a user.", takes: .account, gives: .signedIn)
    )

    static let lookUpAccounts = Call(
        .post,
        "/accounts:lookup",
        version: .project,
        .administration(
            "lookUpAccounts",
            "Returns users by their uids, addresses, telephone numbers or identities.",
            takes: [
                "localId": .strings, "email": .strings, "phoneNumber": .strings,
                "federatedUserId": .array(of: .anyObject),
            ],
            gives: .users
        )
    )

    static let updateAccount = Call(
        .post,
        "/accounts:update",
        version: .project,
        .administration("updateAccount", "Changes a user.", takes: .account, gives: .signedIn)
    )

    static let deleteAccount = Call(
        .post,
        "/accounts:delete",
        version: .project,
        .administration("deleteAccount", "Deletes a user.", takes: ["localId": .string], gives: .kind)
    )

    static let deleteAccounts = Call(
        .post,
        "/accounts:batchDelete",
        version: .project,
        .administration(
            "deleteAccounts",
            "Deletes up to 1000 users.",
            takes: ["localIds": .strings, "force": .boolean],
            gives: .anyObject.adding(optional: ["errors": .array(of: .anyObject)])
        )
    )

    static let listAccounts = Call(
        .get,
        "/accounts:batchGet",
        version: .project,
        .administration(
            "listAccounts",
            "Returns a page of the users.",
            parameters: [
                Parameter(
                    "maxResults",
                    in: .query,
                    .integer.range(1...1000),
                    "The maximum number of users on the page; 20 without it."
                ),
                Parameter("nextPageToken", in: .query, .string, "The nextPageToken of the previous page."),
            ],
            gives: .users.adding(optional: ["nextPageToken": .string])
        )
    )

    static let queryAccounts = Call(
        .post,
        "/accounts:query",
        version: .project,
        .administration(
            "queryAccounts",
            "Returns users in the order of sortBy. With returnUserInfo false, returns the number of users.",
            takes: [
                "returnUserInfo": .boolean, "limit": .string, "offset": .string, "sortBy": .string, "order": .string,
                "expression": .array(of: .anyObject),
            ],
            gives: .anyObject.adding(optional: ["recordsCount": .string, "userInfo": .array(of: .anyObject)])
        )
    )

    static let importAccounts = Call(
        .post,
        "/accounts:batchCreate",
        version: .project,
        .administration(
            "importAccounts",
            "Imports up to 1000 users with their password hashes. Existing users stay unchanged.",
            takes: [
                "users": .array(of: .anyObject), "hashAlgorithm": .string, "signerKey": .string,
                "saltSeparator": .string, "rounds": .integer, "memoryCost": .integer, "cpuMemCost": .integer,
                "blockSize": .integer, "parallelization": .integer, "passwordHashOrder": .string,
            ],
            gives: .kind.adding(optional: ["error": .array(of: .anyObject)])
        )
    )

    static let makeLink = Call(
        .post,
        "/accounts:sendOobCode",
        version: .project,
        .administration(
            "makeLink",
            "Returns a link for a mail that the backend itself sends.",
            takes: [
                "requestType": .oneOf("PASSWORD_RESET", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL", "EMAIL_SIGNIN"),
                "email": .string, "newEmail": .string, "continueUrl": .string, "returnOobLink": .boolean,
            ],
            gives: .kind.adding(optional: ["email": .string, "oobCode": .string, "oobLink": .string])
        )
    )

    static let createSessionCookie = Call(
        .post,
        ":createSessionCookie",
        version: .project,
        .administration(
            "createSessionCookie",
            "Exchanges an ID token for a session cookie that is valid for 5 minutes to 14 days.",
            takes: ["idToken": .string, "validDuration": .string],
            gives: .anyObject.adding(optional: ["sessionCookie": .string])
        )
    )

    // MARK: Projects

    static let project = Call(
        .get,
        "projects",
        formerly: "getProjectConfig",
        .google(
            "project",
            "Returns the project's id, and the host names of its pages.",
            gives: .anyObject.adding(optional: ["projectId": .string, "authorizedDomains": .strings])
        )
    )

    static let recaptcha = Call(
        .get,
        "recaptchaConfig",
        version: .second,
        .google("recaptcha", "Says that no call needs a reCAPTCHA.", gives: .anyObject)
    )

    static let passwordPolicy = Call(
        .get,
        "passwordPolicy",
        version: .second,
        .google("passwordPolicy", "Returns the rules for passwords.", gives: .anyObject)
    )

    /// All calls, in the order of the OpenAPI document.
    static let all: [Call] = [
        signUp, signInWithPassword, signInWithIdp, signInWithEmailLink, signInWithCustomToken, token, lookup, update,
        delete, createAuthUri, revokeToken, sendOobCode, resetPassword, startSecondFactor, finishSecondFactor,
        startEnrolment, finishEnrolment, withdrawFactor, project, recaptcha, passwordPolicy, createAccount,
        lookUpAccounts, updateAccount, deleteAccount, deleteAccounts, listAccounts, queryAccounts,
        importAccounts, makeLink, createSessionCookie,
    ]
}

extension Firebase {
    private static let serviceAccount = "serviceAccount"

    /// The OpenAPI document of the calls, without their paths in the former version of Google's service.
    ///
    /// - Parameter version: The version of the service.
    /// - Returns: The document.
    package static func document(version: String) -> JSONValue {
        var document = OpenAPI(
            [
                "openapi": .string("3.1.0"),
                "info": .object([
                    "title": .string("Federation service, for clients of Firebase Authentication"),
                    "version": .string(version),
                    "summary": .string("The calls that Firebase's SDKs make. docs/clients/firebase.md is the guide."),
                    "license": .object(["name": .string("Apache-2.0"), "identifier": .string("Apache-2.0")]),
                ]),
                "servers": .array([.object(["url": .string(ServerAddress.local)])]),
            ],
            security: [
                serviceAccount: .object(["type": .string("http"), "scheme": .string("bearer")])
            ]
        )
        for call in Call.all {
            document.add(call.method.rawValue, call.fullPath, call.operation(), at: [])
        }
        return document.json
    }

    fileprivate static let byServiceAccount: JSONObject = [
        "security": .array([.object([serviceAccount: .array([])])])
    ]
}

extension Operation {
    /// Describes a call of Google's service, which has a JSON body and an API key.
    fileprivate static func google(
        _ id: String,
        _ summary: String,
        takes members: KeyValuePairs<String, Schema> = [:],
        as type: String = "application/json",
        gives reply: Schema
    ) -> Operation {
        Operation(
            id,
            summary,
            parameters: [.key],
            body: members.isEmpty ? nil : Content(.anyObject.adding(optional: members), as: type),
            .success("The result.", reply),
            or: [.googleError]
        )
    }
}

extension Operation {
    /// Describes a call of administration, which has the access token of a service account.
    fileprivate static func administration(
        _ id: String,
        _ summary: String,
        parameters: [Parameter] = [],
        takes members: KeyValuePairs<String, Schema> = [:],
        gives reply: Schema
    ) -> Operation {
        Operation(
            id,
            summary,
            marks: Firebase.byServiceAccount,
            parameters: [.project] + parameters,
            body: members.isEmpty ? nil : Content(.anyObject.adding(optional: members)),
            .success("The result.", reply),
            or: [.googleError]
        )
    }
}

extension Parameter {
    fileprivate static let project = Parameter("project", in: .path, .string, "The id of the project.")

    fileprivate static let key = Parameter(
        "key",
        in: .query,
        .string,
        "An API key of the application. A client may send the key in the header x-goog-api-key instead.",
        isRequired: true
    )
}

extension Reply {
    fileprivate static let googleError = Reply(
        400,
        as: "Error",
        "The message is the name of an error, such as INVALID_ID_TOKEN, then a colon and an explanation.",
        headers: [.requestID],
        [
            Content(
                Schema.anyObject.adding(
                    optional: [
                        "error": .anyObject.adding(
                            optional: [
                                "code": .integer, "message": .string, "status": .string,
                                "errors": .array(of: .anyObject),
                            ]
                        )
                    ]
                ).named("Error")
            )
        ]
    )
}

extension Schema {
    fileprivate static let kind = Schema.anyObject.adding(optional: ["kind": .string])

    fileprivate static let tokens = Schema.anyObject.adding(optional: ["idToken": .string, "refreshToken": .string])

    fileprivate static let signedIn = kind.adding(
        optional: [
            "localId": .string, "email": .string, "displayName": .string, "photoUrl": .string, "phoneNumber": .string,
            "idToken": .string, "refreshToken": .string, "expiresIn": .string,
        ]
    ).named("SignedIn")

    fileprivate static let users = kind.adding(
        optional: [
            "users": .array(
                of: .anyObject.adding(
                    optional: [
                        "localId": .string, "email": .string, "emailVerified": .boolean, "displayName": .string,
                        "photoUrl": .string, "phoneNumber": .string, "disabled": .boolean,
                        "providerUserInfo": .array(of: .anyObject), "mfaInfo": .array(of: .anyObject),
                        "validSince": .string, "createdAt": .string, "lastLoginAt": .string,
                        "customAttributes": .string,
                    ]
                )
            )
        ]
    )
}

extension KeyValuePairs<String, Schema> {
    /// The members by which a backend creates or changes a user.
    fileprivate static var account: Self {
        [
            "localId": .string, "email": .string, "emailVerified": .boolean, "password": .string,
            "displayName": .string, "photoUrl": .string, "phoneNumber": .string, "disabled": .boolean,
            "disableUser": .boolean, "customAttributes": .string, "validSince": .string,
            "deleteAttribute": .strings, "deleteProvider": .strings, "linkProviderUserInfo": .anyObject,
            "mfa": .anyObject,
        ]
    }

    /// The members by which a client goes on with a login that needs a second factor.
    fileprivate static var pending: Self { ["mfaPendingCredential": .string, "mfaInfo": .array(of: .anyObject)] }
}
