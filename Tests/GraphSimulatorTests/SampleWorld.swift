import GraphSimulator

/// The apps, users and tokens of these tests, at the time of a captured response: Thursday, 17-Nov-22 21:30:03 PST.
enum SampleWorld {
    static let now = 1_668_749_403
    static let app = "257422819769992"
    static let secret = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    static let otherApp = "2345678901"

    static let appToken = "257422819769992|0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    static let encodedAppToken = "257422819769992%7C0a1b2c3d4e5f60718293a4b5c6d7e8f9"

    static var dataset: GraphSimulator.Dataset {
        GraphSimulator.Dataset(
            apps: [
                GraphSimulator.App(id: app, secret: secret, name: "oauth2-rs-f-b-web-app-demo", developers: ["dora"]),
                GraphSimulator.App(id: otherApp, secret: "f0a94c1e62d84b07", name: "Another app"),
            ],
            people: [
                GraphSimulator.Person(
                    "ann",
                    fields: [
                        "name": "Ann Müller", "first_name": "Ann", "last_name": "Müller", "email": "ann@example.com",
                        "birthday": "05/17/1990", "age_range": ["min": 21], "gender": "female",
                        "hometown": ["id": "108146355876523", "name": "Köln, Germany"],
                        "link": "https://www.facebook.com/ann",
                    ],
                    ids: [app: "123"],
                    permissions: [
                        .init("email"), .init("public_profile"), .init("user_birthday"), .init("user_age_range"),
                        .init("user_gender"), .init("user_hometown"), .init("user_link"), .init("user_friends"),
                    ],
                    friends: ["bob", "dora"]
                ),
                GraphSimulator.Person("bob", fields: ["name": "Bob 東京"]),
                GraphSimulator.Person(
                    "cem",
                    fields: ["name": "Cem", "email": "cem@example.com", "birthday": "12/31"],
                    permissions: [.init("public_profile"), .init("email", .declined), .init("user_birthday", .expired)]
                ),
                GraphSimulator.Person("dora", fields: ["name": "Dora O'Neill"]),
            ]
        )
    }

    /// Runs a closure with a new simulator and stops the simulator afterwards.
    static func run(
        _ dataset: GraphSimulator.Dataset = dataset,
        clock: @escaping @Sendable () -> Int = { now },
        requestLog: Int = 10_000,
        _ body: (GraphSimulator) async throws -> Void
    ) async throws {
        let simulator = try await GraphSimulator.start(dataset, requestLog: requestLog, clock: clock)
        do {
            try await body(simulator)
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }
}

extension String {
    /// The text with the value of `fbtrace_id` replaced, if that value has the right form.
    var withoutTrace: String {
        guard let start = range(ofText: #""fbtrace_id":"A"#),
            utf8.distance(from: start.upperBound, to: utf8.endIndex) > 22
        else { return self }
        let end = utf8.index(start.upperBound, offsetBy: 22)
        return self[..<start.upperBound] + "…" + self[end...]
    }

    private func range(ofText text: String) -> Range<String.Index>? {
        ranges(of: text).first
    }
}
