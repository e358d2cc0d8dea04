import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// The steps of an operator from an empty database to the first login.
@Suite("From an empty database to the first login")
struct AdministrationSetUpTests {
    private static let app = "1234567890"

    private static let mapping = """
        [{"from": "first_name", "to": "nick", "transform": "trim"}, {"from": "birthday", "to": "birthday"},
         {"from": "age_range.min", "to": "ageFrom"}]
        """

    @Test("by REST alone")
    func rest() async throws {
        try await withNewInstallation { installation in
            let owner = try await installation.admin()
            try await owner.ask("POST", "applications", #"{"application": "shop", "name": "Shop"}"#)
            let key = try await owner.ask("POST", "applications/shop/keys", #"{"label": "web"}"#)
            try await owner.ask(
                "PUT",
                "applications/shop/providers/facebook",
                #"{"enabled": true, "apps": [{"appId": "\#(Self.app)", "appSecret": "\#(Canary.appSecret(of: Self.app))"}]}"#
            )
            let check = try await owner.ask("POST", "applications/shop/providers/facebook/check")
            #expect(check["apps"]?.array?.first?.object?["ok"]?.bool == true, "\(check.text)")
            for (name, type) in [("nick", "STRING"), ("birthday", "DATE"), ("ageFrom", "INT")] {
                let json = #"{"name": "\#(name)", "type": "\#(type)"}"#
                try await owner.ask("POST", "applications/shop/properties", json)
            }
            try await owner.ask("PUT", "applications/shop/mappings/facebook", Self.mapping)
            try await expectTypedLogin(key: try #require(key["key"]?.string), at: installation)
        }
    }

    @Test("by the command line alone")
    func commandLine() async throws {
        try await withNewInstallation { installation in
            try await installation.command("set", "applications/shop", "name=Shop")
            let key = try await installation.command("set", "applications/shop/keys/web")
            _ = try await Document.withFile(Canary.appSecret(of: Self.app) + "\n") { file in
                try await installation.command(
                    "set",
                    "applications/shop/providers/facebook",
                    "apps.\(Self.app).appSecret=@\(file)"
                )
            }
            let check = try await installation.command("provider", "check", "shop")
            #expect(check.contains(Self.app))
            for (name, type) in [("nick", "STRING"), ("birthday", "DATE"), ("ageFrom", "INT")] {
                try await installation.command("set", "applications/shop/properties/\(name)", "type=\(type)")
            }
            _ = try await Document.withFile(Self.mapping) { file in
                try await installation.command("set", "applications/shop/mappings/facebook", file)
            }
            #expect(key.hasSuffix("\n") && key.split(separator: "\n").count == 1, "the key and nothing else: \(key)")
            try await expectTypedLogin(key: String(key.dropLast()), at: installation)
            #expect(
                try await installation.value("select count(*) from federation.operators") == "0",
                "nobody was needed"
            )
        }
    }

    /// Logs a user in, and expects Facebook's values in the columns, converted to the columns' types.
    private func expectTypedLogin(key: String, at installation: Deployment) async throws {
        let ann = try await installation.newcomer(
            """
            {"first_name": " Ann ", "birthday": "05/17/1990", "age_range": {"min": 21},
             "permissions": {"public_profile": "granted", "user_birthday": "granted", "user_age_range": "granted"}}
            """
        )
        let login = "/shop/\(key)/users/loginWithFacebook"
        let body = #"{"accessToken": "\#(ann.token)"}"#
        // The running instance applies the change within a second.
        let reply: HTTPReply = try await eventually(
            "what Facebook says arrives",
            every: .milliseconds(50)
        ) {
            let reply = try await installation.client.post(login, json: body)
            return JSON.object(reply.text)?["birthday"]?.string == "1990-05-17" ? reply : nil
        }
        let user = try installation.signedIn(reply)
        let columns = try await installation.database.psql(
            """
            select column_name, data_type from information_schema.columns where table_schema = 'shop' and table_name = 'users'
            and column_name in ('nick', 'birthday', 'ageFrom') order by 1
            """
        )
        #expect(columns == [["ageFrom", "bigint"], ["birthday", "date"], ["nick", "text"]])
        // Arithmetic that needs values of these types.
        let values = try await installation.database.psql(
            """
            select "ageFrom" + 1, birthday, birthday + 1, extract(year from birthday), nick from shop.users
            where object_id = '\(user.objectID)'
            """
        )
        #expect(values == [["22", "1990-05-17", "1990-05-18", "1990", "Ann"]])
    }
}
