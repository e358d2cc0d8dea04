import Domain
import Postgres
import Store
import Testing
import TestSupport

@Suite("Users as an export reads them")
struct ExportedUsersTests {
    @Test("a part is smaller where it would be too large, and nobody is left out")
    func largeUsers() async throws {
        try await Tenant.lend { tenant in
            for number in 0..<20 {
                let user = try await tenant.insertUser(email: "\(number)@example.com")
                try await tenant.set("nick", to: String(repeating: "x", count: 60_000), of: user)
            }
            try await withStore(tenant.database.url, configure: { ($0.rowBytes, $0.resultBytes) = (100_000, 400_000) })
            { store in
                var (sizes, emails, last) = ([Int](), [String](), ObjectID?.none)
                while true {
                    let users = try await store.exportedUsers(
                        of: tenant.application,
                        after: last,
                        limit: 16,
                        withPasswordHashes: true,
                        withIdentities: true
                    )
                    guard let end = users.last else { break }
                    sizes.append(users.count)
                    emails += users.compactMap(\.user.email)
                    last = end.user.objectID
                }
                #expect(Set(emails).count == 20 && emails.count == 20)
                #expect(sizes.allSatisfy { (1..<8).contains($0) }, "\(sizes)")
            }
        }
    }
}
