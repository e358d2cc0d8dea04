import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("A property gets another name, and an instance has not heard of it", .faulty())
    struct Renames {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("the next login at every instance succeeds with the name that the property has by then")
        func rename() async throws {
            let document = Document(
                application: "renamed",
                properties: #"{"name0": {"type": "STRING"}}"#,
                mapping: #"[{"from": "first_name", "to": "name0"}]"#
            )
            try await document.apply(to: faults.database)
            let visitor = try await faults.instances[0].newcomer(#"{"first_name": "Ann"}"#)
            for instance in faults.instances {
                try await eventually("the application is there") {
                    try await instance.login(visitor, to: document).status == 200
                }
            }
            // No instance is notified: an instance notices by its poll every five seconds, or by the login that fails.
            try await faults.database.psql(
                "alter table federation.configuration disable trigger configuration_is_announced"
            )
            let owner = try await faults.instances[0].admin()
            for round in 1...3 {
                let name = "name\(round)"
                let path = "applications/renamed/properties/name\(round - 1)"
                try await owner.ask("PATCH", path, #"{"name": "\#(name)"}"#)
                async let first = faults.instances[0].login(visitor, to: document)
                async let second = faults.instances[1].login(visitor, to: document)
                for reply in [try await first, try await second] {
                    #expect(reply.status == 200, "\(reply.text)")
                    let user = JSON.object(reply.text)
                    #expect(user?[name]?.string == "Ann" && user?["name\(round - 1)"] == nil, "\(reply.text)")
                }
            }
            try await faults.database.psql(
                "alter table federation.configuration enable trigger configuration_is_announced"
            )
        }
    }
}
