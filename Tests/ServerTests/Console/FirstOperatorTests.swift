import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("The first operator")
struct FirstOperatorTests {
    private static let page = "/console/first-operator"

    /// Returns the path of a new link.
    private func link(_ deployment: Deployment) async throws -> String {
        let said = try await deployment.command("console", "--at", "http://localhost")
        return String(said.replacing("http://localhost", with: "").prefix { $0 != "\n" })
    }

    private func operators(_ deployment: Deployment) async throws -> String? {
        try await deployment.value(
            "select string_agg(name || ' ' || role, ',' order by name) from federation.operators"
        )
    }

    @Test("the link makes an owner, signs them in, and counts once; the log says how, and has no link")
    func link() async throws {
        try await withNewInstallation { deployment in
            try await eventually("the log says that there is no operator") {
                deployment.service.process.standardOutput.contains("is printed by: federation console")
            }
            let path = try await link(deployment)
            let browser = ConsoleBrowser(deployment.service.management)
            for _ in 0..<3 { try await browser.open(path) }
            #expect(browser.status == 200 && browser.page.contains("Your name"), "\(browser.page)")
            #expect(try await operators(deployment) == nil)

            // An invalid name does not use up the link.
            try await browser.send(formTo: Self.page, ["name": "<b>"])
            #expect(browser.status == 400 && !browser.page.contains("<b>"), "\(browser.page)")
            try await browser.send(formTo: Self.page, ["name": "ann"])
            #expect(browser.status == 200, "\(browser.page)")
            let token = try #require(
                browser.page.firstRange(of: "fedop_").map { browser.page[$0.lowerBound...].prefix(49) }
            )
            #expect(try await operators(deployment) == "ann owner")
            #expect(try await deployment.admin(token: String(token)).get("operator")["role"]?.string == "owner")
            try await browser.open("/console/factors")
            #expect(browser.status == 200 && browser.page.contains("ann"), "\(browser.page)")
            let audited = try await deployment.rows("select to_jsonb(a) from federation.audit_log a order by id")
            let entries = audited.map { "\($0["actor"]?.string ?? "") \($0["action"]?.string ?? "")" }
            #expect(entries.contains { $0.hasSuffix(" operator.setup.link") }, "\(entries)")
            #expect(entries.contains("setup:link operator.create"), "\(entries)")

            let second = ConsoleBrowser(deployment.service.management)
            try await second.open(path)
            try await second.send(formTo: Self.page, ["name": "ben"])
            #expect(second.status == 401 && second.cookie == nil, "\(second.page)")
            #expect(try await operators(deployment) == "ann owner")
            let refused = try await deployment.federation("console", "--at", "http://localhost")
            #expect(refused.exitStatus != .exited(0) && refused.standardOutput.isEmpty)
            #expect(refused.standardError.contains("federation console NAME"), "\(refused.standardError)")
            #expect(!deployment.service.process.standardOutput.contains("fedop_"))
        }
    }

    @Test("of many who follow the link at once, at two instances, one becomes the owner")
    func race() async throws {
        try await withNewInstallation { deployment in
            let other = try await ServiceProcess.start(environment: deployment.commandEnvironment)
            let path = try await link(deployment)
            let token = String(path.split(separator: "=").last ?? "")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<12 {
                    let service = number.isMultiple(of: 2) ? deployment.service : other
                    group.addTask {
                        let client = AdminClient(http: service.management, token: token).elsewhere
                        return try await client.send("POST", "setup", #"{"name": "owner\#(number)"}"#).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 201 }.count == 1, "\(statuses)")
            #expect(statuses.filter { $0 == 401 }.count == 11, "\(statuses)")
            #expect(try await deployment.value("select count(*) from federation.operators") == "1")
            try await other.process.kill()
        }
    }

    @Test("without the link nobody becomes the owner: no token, another one, one that has ended or was replaced")
    func others() async throws {
        try await withNewInstallation { deployment in
            let replaced = String(try await link(deployment).split(separator: "=").last ?? "")
            let token = String(try await link(deployment).split(separator: "=").last ?? "")
            let json = #"{"name": "eve"}"#
            let made = "fedop_" + String(repeating: "A", count: 43)
            for wrong in [nil, "", "x", made, replaced] {
                let client = deployment.admin(token: wrong).elsewhere
                try expectProblem(try await client.send("POST", "setup", json), "operator_token_invalid")
            }
            // The link gives access to nothing else.
            for (method, path) in [
                ("GET", "operator"), ("POST", "operators"), ("POST", "operator/sessions"), ("GET", "audit"),
            ] {
                let reply = try await deployment.admin(token: token).elsewhere.send(method, path, json)
                try expectProblem(reply, "operator_token_invalid", "\(path)")
            }
            let browser = ConsoleBrowser(deployment.service.management)
            try await browser.open(Self.page)
            #expect(
                browser.page.contains("federation console") && PageForms.form(to: Self.page, in: browser.page) == nil
            )
            try await browser.post(Self.page, ["name": "eve", "link": ""])
            #expect(browser.status == 400 || browser.status == 401, "\(browser.page)")
            // A form of another site creates no operator, even with the link.
            try await browser.post(
                Self.page,
                ["name": "eve", "link": token],
                headers: [("Origin", "https://evil.example")]
            )
            #expect(browser.status == 400, "\(browser.page)")
            try await deployment.database.psql(
                "update federation.operator_setup set expires = now() - interval '1 second'"
            )
            let late = deployment.admin(token: token).elsewhere
            try expectProblem(try await late.send("POST", "setup", json), "operator_token_invalid")
            #expect(try await operators(deployment) == nil)

            // An operator created elsewhere invalidates the link.
            let last = String(try await link(deployment).split(separator: "=").last ?? "")
            try await deployment.command("set", "operators/ann", "role=viewer")
            let client = deployment.admin(token: last).elsewhere
            try expectProblem(try await client.send("POST", "setup", json), "operator_token_invalid")
            #expect(try await operators(deployment) == "ann viewer")
        }
    }

    @Test("whoever guesses at the link has to wait")
    func guesses() async throws {
        try await withNewInstallation { deployment in
            _ = try await link(deployment)
            let client = deployment.admin(token: "fedop_" + String(repeating: "A", count: 43)).elsewhere
            var statuses: [Int] = []
            for _ in 0..<8 { statuses.append(try await client.send("POST", "setup", #"{"name": "eve"}"#).status) }
            #expect(statuses.prefix(5).allSatisfy { $0 == 401 } && statuses.contains(429), "\(statuses)")
        }
    }
}
