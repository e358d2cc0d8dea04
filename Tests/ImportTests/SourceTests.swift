import Domain
import Encodings
import Foundation
@testable import Import
import Mapping
import Testing

@Suite("Sources of users")
struct SourceTests {
    private func trace(
        _ name: String,
        of source: ImportSource,
        in application: Application? = nil,
        _ configure: (inout ImportOptions) throws -> Void = { _ in }
    ) throws -> [String] {
        var options = ImportOptions()
        options.apps = [ProviderName(known: "facebook"): try #require(ProviderAppID("1234567890"))]
        options.subjects = Exports.subjects
        try configure(&options)
        let plan = try ImportPlan(source, for: application ?? Exports.application(), options)
        return plan.trace(try Exports.records(try Exports.bytes(name), of: source))
    }

    @Test(
        "Backendless: ids, words and values stay; a password in plain text is no hash, and is left to the one who reads hashes"
    )
    func backendless() throws {
        #expect(
            try trace("backendless.csv", of: .backendless) == [
                #"2: 1F7A0AE8-2D3C-4B5A-9E6F-0123456789AB ENABLED kept locale=en created=1577836800123 updated=1577836900000 lastLogin=1600000000000 login=ann@example.com hash=$2a$10$ email="ann@example.com" name="Ann \"A.\" Example" age=36 city="Berlin, Mitte""#,
                #"3: 2F7A0AE8-2D3C-4B5A-9E6F-0123456789AB DISABLED kept locale=de created=1577836800124 login=bob@example.com email="bob@example.com" name="Bob" city="Two\nlines""#,
                #"5: 3F7A0AE8-2D3C-4B5A-9E6F-0123456789AB ENABLED kept created=1577836800125 login=cat@example.com hash=secret email="cat@example.com" name="Cat" age=7"#,
            ]
        )
    }

    @Test("Firebase: hashes with their salts, identities by the named app; who has nothing to log in with is refused")
    func firebase() throws {
        #expect(
            try trace("firebase.json", of: .firebase) == [
                #"2: u1xG4kQ9pTZc3vB7nM2sL5dW8yE1 ENABLED verified created=1577836800123 lastLogin=1600000000000 login=ann@example.com firebase=64+10 uid=u1xG4kQ9pTZc3vB7nM2sL5dW8yE1 claims={"plan":"gold"} email="ann@example.com" name="Ann" unmapped=photoUrl"#,
                #"15: u2xG4kQ9pTZc3vB7nM2sL5dW8yE1 ENABLED created=1577836800124 uid=u2xG4kQ9pTZc3vB7nM2sL5dW8yE1 facebook/1234567890/10150000000000001 - email="bob@example.com" name="Bob \"}]\" Example""#,
                "26: noLoginMethod", "31: identityNotTaken",
            ]
        )
        let google = try trace("firebase.json", of: .firebase) { $0.withoutProviders = [ProviderName(known: "google")] }
        // Without the identity, the e-mail address is the only login method.
        #expect(
            google.last
                == #"31: u4xG4kQ9pTZc3vB7nM2sL5dW8yE1 DISABLED created=1577836800126 login=dan@example.com uid=u4xG4kQ9pTZc3vB7nM2sL5dW8yE1 email="dan@example.com""#
        )
        let apps = try trace("firebase.json", of: .firebase) {
            $0.apps[ProviderName(known: "google")] = ProviderAppID("42.apps.example.com")
        }
        #expect(apps.last?.contains("google/42.apps.example.com/117000000000000000001 -") == true)
    }

    @Test("Parse: of the dashboard and of mongoexport, without tokens; anonymous users are refused")
    func parse() throws {
        let parse = try trace("parse.json", of: .parse)
        #expect(
            parse == [
                #"2: g7y9tkhB7O ENABLED verified created=1577836800123 updated=1577836900000 login=ann@example.com hash=$2a$10$ email="ann@example.com" born="1984-02-29" age=36 unmapped=username"#,
                #"7: h7y9tkhB7O ENABLED created=1577836800124 updated=1577836800124 facebook/1234567890/10150000000000001 - unmapped=username"#,
                "10: noLoginMethod", "12: noLoginMethod",
            ]
        )
        let mongo = try trace("parse-mongo.ndjson", of: .parse)
        #expect(
            mongo == [
                #"1: g7y9tkhB7O ENABLED created=1577836800123 updated=1577836900000 login=ann@example.com hash=$2b$10$ email="ann@example.com" age=36 unmapped=username"#,
                #"2: h7y9tkhB7O ENABLED created=1577836800124 facebook/1234567890/10150000000000001 - unmapped=username"#,
            ]
        )
        #expect(!(parse + mongo).joined().contains("canary"))
        // With the name as login name, an e-mail address serves only to reset the password.
        let username = Exports.named("username")
        var named = try Exports.application([Property(name: username, type: .string)])
        named.settings.identityProperty = username
        let byName = try trace("parse.json", of: .parse, in: named)
        #expect(byName[0].contains(#" login=ann hash=$2a$10$ "#) && byName[1].contains(#"username="k3jm2n5b8v""#))
        #expect(byName[2] == "10: noLoginMethod")
        #expect(byName[3] == #"12: j7y9tkhB7O ENABLED created=1577836800126 login=eve hash=$2a$10$ username="Eve""#)
    }

    @Test("Auth0: the export, hashes of its support, and the form of bulk imports")
    func auth0() throws {
        #expect(
            try trace("auth0.ndjson", of: .auth0) == [
                #"1: 5f7c8ec7c33c6c004bbafe82 ENABLED verified locale=en created=1577836800123 updated=1577836900000 lastLogin=1600000000000 login=ann@example.com hash=$2b$10$ name="Ann" email="ann@example.com" age=36 unmapped=nickname,app_metadata"#,
                #"2: facebook|10150000000000001 ENABLED created=1577836800124 facebook/1234567890/10150000000000001 - name="Bob" email="bob@example.com""#,
                #"3: 6f7c8ec7c33c6c004bbafe82 DISABLED login=cat@example.com sha256=32+0 before email="cat@example.com""#,
                "4: passwordNotTaken", "5: malformed",
            ]
        )
    }

    @Test("Cognito: attributes without prefix; without an address nobody can restore a password")
    func cognito() throws {
        #expect(
            try trace("cognito.csv", of: .cognito) == [
                #"2: 7d1f0c52-5f5e-4c5b-9f0a-1f2e3d4c5b6a ENABLED verified locale=en login=ann@example.com name="Ann" email="ann@example.com" unmapped=given_name,family_name,phone_number,plan"#,
                "3: noLoginMethod",
            ]
        )
    }

    @Test("Supabase: ids stay, moments of PostgreSQL, identities in a column, no token")
    func supabase() throws {
        let users = try trace("supabase.csv", of: .supabase)
        #expect(
            users == [
                #"2: 0f3c2a5e-6d1b-4c8a-9e7f-1b2c3d4e5f60 ENABLED kept verified created=1577836800123 updated=1577836900000 lastLogin=1600000000000 login=ann@example.com hash=$2a$10$ email="ann@example.com" name="Ann" age=36"#,
                #"3: 1f3c2a5e-6d1b-4c8a-9e7f-1b2c3d4e5f60 DISABLED kept verified created=1577836800124 facebook/1234567890/10150000000000001 1577836800124 email="bob@example.com" name="Bob""#,
            ]
        )
    }

    @Test("CSV with a mapping, semicolons, and names of its own for what is no property")
    func csv() throws {
        let mapping = try Mapping(JSONParser.parse(try Exports.bytes("people-mapping.json"), limits: .document))
        let users = try trace("people.csv", of: .csv) {
            $0.mapping = mapping
            $0.columns = [.objectID: "customer_no", .passwordHash: "pw", .created: "joined"]
        }
        #expect(
            users == [
                #"2: 1001 ENABLED created=1577836800123 login=ann@example.com hash=$2a$10$ email="ann@example.com" name="Ann""#,
                #"3: 1002 ENABLED login=bob@example.com email="bob@example.com" name="Bob""#,
                #"4: 1002 ENABLED login=bob@example.com email="bob@example.com" name="Bob again""#,
            ]
        )
    }

    @Test("Lines of JSON as our own export writes them")
    func ndjson() throws {
        #expect(
            try trace("users.ndjson", of: .ndjson) == [
                #"1: 1F7A0AE8-2D3C-4B5A-9E6F-0123456789AB ENABLED kept verified locale=en created=1577836800123 updated=1577836900000 login=ann@example.com hash=$argon2 facebook/1234567890/10150000000000001 1577836800500 email="ann@example.com" name="Ann" age=36"#,
                #"3: 2F7A0AE8-2D3C-4B5A-9E6F-0123456789AB DISABLED kept login=bob@example.com email="bob@example.com" name="Bob""#,
            ]
        )
    }

    @Test("what our own export sets aside is a property, and never a role, an identity or a password")
    func aside() throws {
        let application = try Exports.application(
            ["login", "roles", "properties"].map { Property(name: Exports.named($0), type: .json) }
        )
        let hostile =
            #"{"login": "ann", "roles": ["staff"], "properties": [1], "passwordHash": "x", "email": "c@d.ef"}"#
        #expect(
            try line(#"{"objectId": "1", "email": "a@b.de", "roles": [], "properties": \#(hostile)}"#, in: application)
                == #"1: 1 ENABLED login=c@d.ef login="ann" roles=["staff"] properties=[1] email="c@d.ef" unmapped=passwordHash"#
        )
        #expect(
            try line(#"{"objectId": "1", "email": "a@b.de", "properties": "x"}"#, in: application)
                == #"1: 1 ENABLED login=a@b.de email="a@b.de" properties="x""#
        )
    }

    @Test("a user of another system gets the same id each time, another one in another application or from elsewhere")
    func ids() throws {
        let demo = try #require(ApplicationID("demo"))
        let other = try #require(ApplicationID("other"))
        let id = ObjectID(of: "u1", at: .firebase, in: demo)
        #expect(id == ObjectID(of: "u1", at: .firebase, in: demo))
        let others = [
            ObjectID(of: "u2", at: .firebase, in: demo), ObjectID(of: "u1", at: .parse, in: demo),
            ObjectID(of: "u1", at: .firebase, in: other),
        ]
        #expect(Set(others + [id]).count == 4)
        for id in others {
            #expect(Array(id.description)[14] == "8" && "89AB".contains(Array(id.description)[19]))
        }
    }

    /// Returns the result of the first record of a text as one line.
    private func line(
        _ text: String,
        of source: ImportSource = .ndjson,
        in application: Application? = nil,
        without members: Set<String> = [],
        mapping: Mapping? = nil,
        facebookID: String? = nil
    ) throws -> String {
        var options = ImportOptions()
        options.identityMembers[ProviderName(known: "facebook")] = facebookID
        options.subjects = Exports.subjects
        options.apps = [
            ProviderName(known: "facebook"): ProviderAppID("1234567890"),
            ProviderName(known: "google"): ProviderAppID("42.apps.example.com"),
        ].compactMapValues(\.self)
        options.withoutMembers = members
        options.mapping = mapping
        let plan = try ImportPlan(source, for: application ?? Exports.application(), options)
        return try #require(plan.trace(try Exports.records(Array(text.utf8), of: source)).first)
    }

    @Test("Firebase: records of the Admin SDK come with their passwords, identities and times")
    func firebaseAdmin() throws {
        let record = #"""
            {"uid": "u1", "email": "ann@example.com", "emailVerified": true, "displayName": "Ann", "photoURL": "https://x",
             "disabled": false, "passwordHash": "lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ",
             "passwordSalt": "42xEC-ixf3L2lw", "customClaims": {"plan": "gold"}, "tokensValidAfterTime": "x",
             "metadata": {"creationTime": "Wed, 01 Jan 2020 00:00:00 GMT", "lastSignInTime": "Sun, 13 Sep 2020 12:26:40 GMT"},
             "providerData": [{"uid": "ann@example.com", "providerId": "password"},
                 {"uid": "10150000000000001", "providerId": "facebook.com"}]}
            """#.replacing("\n", with: "")
        #expect(
            try line(record, of: .firebase)
                == #"1: u1 ENABLED verified created=1577836800000 lastLogin=1600000000000 login=ann@example.com firebase=64+10 uid=u1 claims={"plan":"gold"} facebook/1234567890/10150000000000001 - email="ann@example.com" name="Ann" unmapped=photoUrl"#
        )
    }

    @Test(
        "an identity that stands in the id or the name of the user alone is taken, where that is what it says",
        arguments: [
            (.auth0, #"{"user_id": "facebook|10223344", "email": "a@b.de"}"#, "facebook/1234567890/10223344"),
            (.auth0, #"{"user_id": "google-oauth2|117", "email": "a@b.de"}"#, "google/42.apps.example.com/117"),
            (.auth0, #"{"user_id": "auth0|5f7c", "email": "a@b.de"}"#, nil),
            (.auth0, #"{"user_id": "email|5f7c", "email": "a@b.de"}"#, nil),
            // The list `identities` is complete.
            (.auth0, #"{"user_id": "facebook|1", "identities": [], "email": "a@b.de"}"#, nil),
            (
                .cognito, "cognito:username,UserStatus,email\nFacebook_10223344,EXTERNAL_PROVIDER,a@b.de",
                "facebook/1234567890/10223344"
            ),
            (
                .cognito, "cognito:username,cognito:user_status,email\nfacebook_10223344,EXTERNAL_PROVIDER,a@b.de",
                "facebook/1234567890/10223344"
            ),
            (
                .cognito, "cognito:username,UserStatus,email\nGoogle_117,EXTERNAL_PROVIDER,a@b.de",
                "google/42.apps.example.com/117"
            ),
            (.cognito, "cognito:username,email\nann_example,a@b.de", nil),
            // The name of a user with a password is the user's own choice.
            (.cognito, "cognito:username,cognito:user_status,email\nFacebook_10223344,CONFIRMED,a@b.de", nil),
        ] as [(ImportSource, String, String?)]
    )
    func identityInName(source: ImportSource, text: String, identity: String?) throws {
        let line = try line(text, of: source)
        #expect(line.contains(" ENABLED "), "\(line)")
        #expect(line.contains(identity.map { "\($0) -" } ?? "login=a@b.de"), "\(line)")
        #expect(line.contains("/") == (identity != nil), "\(line)")
    }

    @Test(
        "an app's own property with Facebook's id becomes an identity, and what is no id or another's is refused",
        arguments: [
            ("objectId,email,fbId(STRING)\n1,a@b.de,10150000000000001", "facebook/1234567890/10150000000000001 -"),
            ("objectId,email,fbId(STRING)\n1,a@b.de,", "login=a@b.de"),
            ("objectId,email\n1,a@b.de", "login=a@b.de"),
            ("objectId,email,fbId(STRING)\n1,a@b.de,ann", "identityNotTaken"),
            // A number with so many digits was rounded.
            ("objectId,email,fbId(DOUBLE)\n1,a@b.de,1.0150000000000001E16", "identityNotTaken"),
            (#"{"objectId": "1", "email": "a@b.de", "fbId": 10223344}"#, "facebook/1234567890/10223344 -"),
            (#"{"objectId": "1", "email": "a@b.de", "fbId": {"id": "10223344"}}"#, "identityNotTaken"),
            (
                #"{"objectId": "1", "email": "a@b.de", "fbId": "7", "authData": {"facebook": {"id": "7"}}}"#,
                "facebook/1234567890/7 -"
            ),
            // Clients can write their own property, but not the identity that the former system has verified.
            (
                #"{"objectId": "1", "email": "a@b.de", "fbId": "8", "authData": {"facebook": {"id": "7"}}}"#,
                "identityNotTaken"
            ),
        ]
    )
    func identityMember(text: String, result: String) throws {
        let source: ImportSource = text.hasPrefix("{") ? .parse : .backendless
        let line = try line(text, of: source, facebookID: "fbId")
        #expect(line.contains(result), "\(line)")
        #expect(!line.contains("unmapped") && line.split(separator: "facebook/").count <= 2, "\(line)")
        // The application keeps the property only if it declares one.
        let keeping = try self.line(text, of: source, in: Exports.application(dynamic: true), facebookID: "fbId")
        #expect(!keeping.contains("fbId"), "\(keeping)")
        let declared = try Exports.application([Property(name: Exports.named("fbId"), type: .string)])
        let taken = try self.line(text, of: source, in: declared, facebookID: "fbId")
        #expect(taken.contains(result) && taken.contains("fbId=") == result.hasPrefix("facebook"), "\(taken)")
    }

    /// Records with a member that some system uses for logins and that the import does not read.
    private static let suspects: [(ImportSource, String, String)] = [
        (.firebase, #"{"localId": "1", "email": "a@b.de", "mfaInfo": [{"mfaEnrollmentId": "x"}]}"#, "mfaInfo"),
        (
            .firebase, #"{"uid": "1", "email": "a@b.de", "multiFactor": {"enrolledFactors": [{"uid": "x"}]}}"#,
            "multiFactor"
        ),
        (.firebase, #"{"uid": "1", "email": "a@b.de", "passwordDigest": "abc"}"#, "passwordDigest"),
        (.parse, #"{"objectId": "1", "email": "a@b.de", "password": "secret"}"#, "password"),
        (.parse, #"{"_id": "1", "email": "a@b.de", "_mfa_secret": "x"}"#, "_mfa_secret"),
        (.auth0, #"{"user_id": "1", "email": "a@b.de", "multifactor": ["guardian"]}"#, "multifactor"),
        (.auth0, #"{"user_id": "1", "email": "a@b.de", "hash": "$2b$10$x"}"#, "hash"),
        (.cognito, "sub,email,cognito:mfa_enabled\n1,a@b.de,true", "cognito:mfa_enabled"),
        (.cognito, "sub,email,cognito:user_status\n1,a@b.de,EXTERNAL_PROVIDER", "cognito:username"),
        // A name that the user may have chosen.
        (.cognito, "sub,email,cognito:username\n1,a@b.de,facebook_10223344", "cognito:username"),
        (
            .supabase, #"{"id": "1", "email": "a@b.de", "raw_app_meta_data": {"providers": ["email", "facebook"]}}"#,
            "raw_app_meta_data"
        ),
        (.supabase, #"{"id": "1", "email": "a@b.de", "factors": [{"id": "x"}]}"#, "factors"),
        (.backendless, "objectId,email,socialAccount\n1,a@b.de,FACEBOOK", "socialAccount"),
        (
            .backendless, "objectId,email,oAuthIdentities\n1,a@b.de,\"{\"\"facebook\"\": {}, \"\"x\"\": 1}\"",
            "oAuthIdentities"
        ),
        (.csv, "email,password\na@b.de,secret", "password"),
        (.csv, "email,legacy\na@b.de,$2b$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq", "legacy"),
        (.csv, "email,old\na@b.de,{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "old"),
        (.csv, "email,old\na@b.de,pbkdf2_sha256$260000$abc$defghijklmnop", "old"),
        (.csv, "email,Facebook ID\na@b.de,10223344", "Facebook ID"),
        (.ndjson, #"{"email": "a@b.de", "fbUid": 10223344}"#, "fbUid"),
        (.ndjson, #"{"email": "a@b.de", "totpSecret": "ABC"}"#, "totpSecret"),
        (.ndjson, #"{"email": "a@b.de", "linkedAccounts": [{"type": "x"}]}"#, "linkedAccounts"),
    ]

    @Test(
        "what looks like a credential, a hash or an identity is read or refused, or counted where it may be left out",
        arguments: suspects
    )
    func suspected(source: ImportSource, text: String, member: String) throws {
        #expect(try line(text, of: source).hasSuffix(": memberNotTaken"))
        let counted = try line(text, of: source, without: [member])
        #expect(counted.contains("login=a@b.de") && counted.hasSuffix("unmapped=\(member)"), "\(counted)")
        // An application with dynamic properties does not keep such a member either.
        let keeping = try Exports.application(dynamic: true)
        #expect(try line(text, of: source, in: keeping).hasSuffix(": memberNotTaken"))
    }

    @Test("a declared property takes what looks like a credential, and a mapping does")
    func declaredSuspect() throws {
        let record = #"{"email": "a@b.de", "hash": "x", "fbUid": 10}"#
        let declared = ["hash", "fbUid"].map { Property(name: Exports.named($0), type: .string) }
        #expect(try line(record, in: Exports.application(declared)).hasSuffix(#"hash="x" fbUid="10""#))
        let mapping = try Mapping(
            try JSONParser.parse(Array(#"{"email": "email", "hash": "city"}"#.utf8), limits: .document)
        )
        #expect(try line(record, mapping: mapping) == "1: memberNotTaken")
        #expect(try line(record, without: ["fbUid"], mapping: mapping).hasSuffix(#"city="x" unmapped=fbUid"#))
    }

    @Test(
        "what says nothing of a credential raises no suspicion",
        arguments: [
            #""mfaEnabled": false"#, #""identities": []"#, #""providers": [], "oauth": {}"#, #""passwordUpdatedAt": 1"#,
            #""password": """#, #""hashtag": "x""#, #""salty": "x""#, #""facebookUrl": "https://x""#,
            #""factory": "x""#,
            #""note": "$5 and more, which is little""#, #""multifactor": [null, {"a": []}]"#,
        ]
    )
    func unsuspicious(member: String) throws {
        #expect(try line(#"{"email": "a@b.de", \#(member)}"#).contains("login=a@b.de"))
    }

    @Test(
        "an identity, a list of them or a hash that cannot be read refuses the record",
        arguments: [
            (
                .firebase,
                #"{"localId": "1", "email": "a@b.de", "providerUserInfo": [{"providerId": "facebook.com"}]}"#,
                "identityNotTaken"
            ),
            (.firebase, #"{"localId": "1", "email": "a@b.de", "providerUserInfo": {"a": 1}}"#, "identityNotTaken"),
            (.firebase, #"{"localId": "1", "email": "a@b.de", "passwordHash": "UkVEQUNURUQ="}"#, "passwordNotTaken"),
            (
                .auth0, #"{"user_id": "1", "email": "a@b.de", "identities": [{"provider": "facebook"}]}"#,
                "identityNotTaken"
            ),
            (.auth0, #"{"user_id": "1", "email": "a@b.de", "custom_password_hash": "x"}"#, "passwordNotTaken"),
            (.cognito, "sub,email,identities\n1,a@b.de,garbage", "identityNotTaken"),
            (
                .supabase, #"{"id": "1", "email": "a@b.de", "identities": [{"provider": "facebook"}]}"#,
                "identityNotTaken"
            ),
            (
                .parse, #"{"objectId": "1", "email": "a@b.de", "authData": {"facebook": {"token": "x"}}}"#,
                "identityNotTaken"
            ),
            (.parse, #"{"objectId": "1", "email": "a@b.de", "authData": "garbage"}"#, "identityNotTaken"),
            (.ndjson, #"{"email": "a@b.de", "identities": {"provider": "facebook"}}"#, "identityNotTaken"),
            (.ndjson, #"{"email": "a@b.de", "identities": ["facebook"]}"#, "identityNotTaken"),
            (.ndjson, #"{"email": "a@b.de", "roles": "staff"}"#, "roleUnknown"),
            (.firebase, #"{"localId": "1", "email": "a@b.de", "customAttributes": "gold"}"#, "claimsNotTaken"),
            (.firebase, #"{"uid": "1", "email": "a@b.de", "customClaims": [1]}"#, "claimsNotTaken"),
            (
                .firebase, #"{"localId": "1", "email": "a@b.de", "customAttributes": "{\"sub\":\"2\"}"}"#,
                "claimsNotTaken"
            ),
            (
                .firebase,
                #"{"uid": "1", "email": "a@b.de", "customClaims": {"a": "\#(String(repeating: "b", count: 993))"}}"#,
                "claimsNotTaken"
            ),
            (.firebase, #"{"localId": "\#(String(repeating: "u", count: 129))", "email": "a@b.de"}"#, "uidNotTaken"),
            (.firebase, #"{"localId": "a\u0007", "email": "a@b.de"}"#, "uidNotTaken"),
            (.ndjson, #"{"email": "a@b.de", "firebaseClaims": {"firebase": {}}}"#, "claimsNotTaken"),
            (.csv, "email,firebaseUid\na@b.de,\(String(repeating: "u", count: 129))", "uidNotTaken"),
        ] as [(ImportSource, String, String)]
    )
    func unreadable(source: ImportSource, text: String, reason: String) throws {
        #expect(try line(text, of: source).hasSuffix(": \(reason)"))
    }

    @Test(
        "the uid and the claims of a file of the service's own form are taken, and empty claims are none",
        arguments: [
            (
                .ndjson, #"{"email": "a@b.de", "firebaseUid": "u1", "firebaseClaims": {"a": 1}}"#,
                #"uid=u1 claims={"a":1}"#
            ),
            (.ndjson, #"{"email": "a@b.de", "firebaseUid": null, "firebaseClaims": {}}"#, ""),
            (.csv, "email,firebaseUid,firebaseClaims\na@b.de,u1,\"{\"\"a\"\":1}\"", #"uid=u1 claims={"a":1}"#),
            (.firebase, #"{"uid": "u1", "email": "a@b.de", "customAttributes": "{}"}"#, "uid=u1"),
            // Clients may have written a property of that name.
            (.ndjson, #"{"email": "a@b.de", "properties": {"firebaseUid": "u1"}}"#, ""),
        ] as [(ImportSource, String, String)]
    )
    func uids(source: ImportSource, text: String, expected: String) throws {
        let line = try line(text, of: source)
        #expect(line.contains("login=a@b.de \(expected.isEmpty ? "" : expected + " ")email="), "\(line)")
    }

    @Test(
        "values are of their property's type, or the record is refused",
        arguments: [
            (#""age": "7""#, "age=7"), (#""age": 7.5"#, nil), (#""age": "old""#, nil),
            (#""born": "1984-02-29""#, #"born="1984-02-29""#), (#""born": 446860800000"#, #"born="1984-02-29""#),
            (#""born": "1984-02-30""#, nil), (#""born": -1"#, #"born="1969-12-31""#),
            (#""seen": "2020-01-01 00:00:00.5+02""#, "seen=1577829600500"), (#""seen": "soon""#, nil),
            (#""seen": "2020-01-01T00:00:00""#, "seen=1577836800000"),
            (#""member": "t""#, "member=true"), (#""member": "perhaps""#, nil),
            (#""customAttributes": "{\"a\":[1]}""#, #"customAttributes={"a":[1]}"#),
            (#""customAttributes": "words""#, #"customAttributes="words""#),
            (#""city": 5"#, #"city="5""#), (#""city": null"#, ""),
        ] as [(String, String?)]
    )
    func values(member: String, expected: String?) throws {
        let text = try line(#"{"objectId": "1", "email": "a@b.de", \#(member)}"#)
        let base = #"1: 1 ENABLED login=a@b.de email="a@b.de""#
        let whole = expected.map { $0.isEmpty ? base : "\(base) \($0)" } ?? "1: valueNotConvertible"
        #expect(text == whole)
    }

    @Test(
        "what is no user, and why",
        arguments: [
            ("{}", "idMissing"), ("[]", "malformed"), (#"{"objectId": "1"}"#, "noLoginMethod"),
            (#"{"objectId": "1", "email": "no"}"#, "emailInvalid"),
            (#"{"objectId": "1", "email": "a@b.de", "userStatus": "GONE"}"#, "statusUnknown"),
            (#"{"objectId": "1", "email": "a@b.de", "userStatus": "GUEST"}"#, "noLoginMethod"),
            (#"{"objectId": "1", "email": "a@b.de", "roles": ["king"]}"#, "roleUnknown"),
            (#"{"objectId": "1", "email": "a@b.de", "identities": [{"provider": "x"}]}"#, "identityNotTaken"),
            (#"{"objectId": "1", "identities": [{"provider": "apple", "subject": "1"}]}"#, "identityNotTaken"),
            (
                #"{"objectId": "1", "identities": [{"provider": "facebook", "app": "1", "subject": "x"}]}"#,
                "identityNotTaken"
            ),
            (#"{"objectId": "1", "passwordHash": "x"}"#, "noLoginMethod"),
            (#"{"objectId": "1", "objectId": "1"}"#, "malformed"),
        ]
    )
    func refusals(json: String, reason: String) throws {
        #expect(try line(json) == "1: \(reason)")
    }

    @Test(
        "a required property that lacks refuses the record; undeclared ones are kept where the application keeps them"
    )
    func application() throws {
        let required = [Property(name: Exports.named("age"), type: .int, required: true)]
        #expect(
            try line(#"{"objectId": "1", "email": "a@b.de"}"#, in: Exports.application(required))
                == "1: propertyMissing"
        )
        let dynamic = try line(
            #"{"objectId": "1", "email": "a@b.de", "pet": "cat", "no name": 1, "roles": ["staff"]}"#,
            in: Exports.application([], dynamic: true)
        )
        #expect(
            dynamic
                == #"1: 1 ENABLED login=a@b.de roles=["staff"] email="a@b.de" dynamic={"pet":"cat"} unmapped=no name"#
        )
        for (setting, end) in [
            (UndeclaredProperties.store, #"dynamic={"pet":"cat"}"#), (.drop, "unmapped=pet"), (.refuse, "unmapped=pet"),
        ] {
            let application = try Exports.application([], dynamic: setting != .store, undeclared: setting)
            #expect(
                try line(#"{"objectId": "1", "email": "a@b.de", "pet": "cat"}"#, in: application)
                    == #"1: 1 ENABLED login=a@b.de email="a@b.de" "# + end
            )
        }
    }

    @Test("who logs in by an address that is no property has it as the property, to which mails go")
    func address() throws {
        let required = try Exports.application([], requiresEmail: true)
        for application in [try Exports.application(), required] {
            #expect(
                try line(#"{"objectId": "1", "login": "a@b.de"}"#, in: application)
                    == #"1: 1 ENABLED login=a@b.de email="a@b.de""#
            )
        }
        #expect(
            try line(#"{"objectId": "1", "login": "a@b.de", "email": "c@d.ef"}"#)
                == #"1: 1 ENABLED login=a@b.de email="c@d.ef""#
        )
    }

    @Test("an identity of a provider that is called otherwise follows the rule of its kind")
    func kinds() throws {
        let record = #"{"objectId": "1", "identities": [{"provider": "fb", "app": "1", "subject": "x7"}]}"#
        for (rule, reason) in [(SubjectRule(isDecimal: true), "identityNotTaken"), (SubjectRule(), nil)] {
            var options = ImportOptions()
            options.subjects = [ProviderName(known: "fb"): rule]
            let plan = try ImportPlan(.ndjson, for: Exports.application(), options)
            let line = plan.trace(try Exports.records(Array(record.utf8), of: .ndjson)).first
            #expect(line == "1: \(reason ?? "1 ENABLED fb/1/x7 -")")
        }
    }

    @Test("no description of a user repeats a hash")
    func canary() throws {
        let plan = try ImportPlan(.backendless, for: Exports.application(), ImportOptions())
        let records = try Exports.records(try Exports.bytes("backendless.csv"), of: .backendless)
        var dumped = ""
        for record in records { dump(try plan.user(of: record).source.password, to: &dumped) }
        #expect(!dumped.contains("$2a$") && !dumped.contains("secret"))
    }
}

@Suite("Names of fields in mappings")
struct FieldNameTests {
    @Test(
        arguments: [
            ("displayName", "display_name"), ("custom:Plan", "custom_plan"), ("First Name", "first_name"),
            ("photoURL", "photo_url"), ("given_name", "given_name"), ("A1B", "a1_b"), ("é", "__"),
        ]
    )
    func folded(name: String, folded: String) {
        #expect(FieldNames.folded(name) == folded)
    }
}
