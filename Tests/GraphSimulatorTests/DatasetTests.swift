import FoundationEssentials
import GraphSimulator
import Testing

@Suite("a data file is read strictly and says what is wrong with it")
struct DatasetTests {
    static let faultyFiles: [(String, String)] = [
        ("[]", "expected an object"),
        (#"{"app":[]}"#, "app: unknown member; known are apps, people, removedFields, sms, tokens, twitter"),
        (#"{"apps":[{"id":"1"}]}"#, "apps[0]: \"secret\" is missing or empty"),
        (#"{"apps":[{"id":"x1","secret":"s"}]}"#, "apps[0].id: expected 1 to 20 decimal digits"),
        (#"{"apps":[{"id":1,"secret":"s"}]}"#, "apps[0].id: expected a string"),
        (
            #"{"apps":[{"id":"1","secret":"s","requireproof":true}]}"#,
            "apps[0].requireproof: unknown member; known are desktop, developers, dialogError, dropChallenge, id, ignoreProof, name, redirectUris, requireProof, secret, usage"
        ),
        (
            #"{"apps":[{"id":"1","secret":"s","usage":{"call_count":-1}}]}"#,
            "apps[0].usage.call_count: expected an integer from 0 to 2147483647"
        ),
        (#"{"apps":[{"id":"1","secret":"s"},{"id":"1","secret":"t"}]}"#, "apps[1].id: \"1\" appears twice"),
        (#"{"people":[{}]}"#, "people[0].key: expected a name of 1 to 128 bytes"),
        (#"{"people":[{"key":"a"},{"key":"a"}]}"#, "people[1].key: \"a\" appears twice"),
        (#"{"people":[{"key":"a","nmae":"A"}]}"#, "people[0].nmae: no field of a User; own fields go under \"extra\""),
        (#"{"people":[{"key":"a","name":1}]}"#, "people[0].name: expected a string"),
        (#"{"people":[{"key":"a","age_range":"21"}]}"#, "people[0].age_range: expected an object"),
        (#"{"people":[{"key":"a","id":"1"}]}"#, "people[0].id: expected no \"id\" but \"ids\": {app id: user id}"),
        (#"{"people":[{"key":"a","ids":{"1":2}}]}"#, "people[0].ids.1: expected a string of 1 to 32 bytes"),
        (
            #"{"people":[{"key":"a","permissions":{"email":"yes"}}]}"#,
            "people[0].permissions.email: expected \"granted\", \"declined\" or \"expired\""
        ),
        (#"{"people":[{"key":"a","friends":["b"]}]}"#, "people[0].friends[0]: no person \"b\""),
        (
            #"{"tokens":[{"kind":"shrot"}]}"#,
            "tokens[0].kind: expected one of short, long, never, expired, passwordChanged, appRemoved, invalidated, loggedOut, checkpointed, unconfirmed, malformed, otherApp, page, app, systemUser, dataAccessExpired, undecodable, undecryptable, debugOnly"
        ),
        (#"{"tokens":[{}]}"#, "tokens[0].app: there is no app"),
        (
            #"{"removedFields":{"gender":{"since":"25"}}}"#,
            "removedFields.gender.since: expected a version such as v25.0"
        ),
        (
            #"{"people":[{"key":"a","locale":"de"}]}"#,
            "people[0].locale: expected nothing: Graph gives it to nobody; it may stand under \"extra\""
        ),
        (#"{"apps":[{"id":"1","secret":"s"}],"tokens":[{"app":"2"}]}"#, "tokens[0].app: no app 2"),
        (#"{"apps":[{"id":"1","secret":"s"}],"tokens":[{"person":"a"}]}"#, "tokens[0].person: no person \"a\""),
        (
            #"{"apps":[{"id":"1","secret":"s"}],"people":[{"key":"a"}],"tokens":[{"name":"x"},{"name":"x"}]}"#,
            "tokens[1].name: \"x\" is taken"
        ),
        (
            #"{"apps":[{"id":"1","secret":"s"}],"people":[{"key":"a"}],"tokens":[{"text":"a|b"}]}"#,
            "tokens[0].text: expected 1 to 4096 printable ASCII characters without \"|\""
        ),
    ]

    @Test("the entry at fault and the reason", arguments: faultyFiles)
    func faulty(_ text: String, _ message: String) async {
        let error = await #expect(throws: GraphSimulator.DataError.self) {
            let simulator = try await GraphSimulator.start(GraphSimulator.Dataset(json: text.utf8))
            await simulator.stop()
        }
        #expect(error?.description == message)
    }

    @Test("the sample that ships with the product is good and its named tokens keep their text")
    func sample() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docker/simulator.json")
        let dataset = try GraphSimulator.Dataset(json: try Data(contentsOf: file))
        #expect(dataset.apps.count == 2)
        #expect(dataset.people.count >= 4)
        try await SampleWorld.run(dataset) { simulator in
            try await SampleWorld.run(dataset) { second in
                #expect(simulator.token("ann")?.text.hasPrefix("EAA") == true)
                #expect(simulator.token("ann")?.text == second.token("ann")?.text)
                for token in dataset.tokens {
                    let name = try #require(token.name)
                    #expect(simulator.token(name)?.kind == token.kind)
                }
            }
        }
    }

    @Test("reset brings everything back")
    func reset() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            simulator.update(person: "ann") { $0.fields["name"] = "Other" }
            simulator.remove(app: SampleWorld.otherApp)
            simulator.add(.init(.empty))
            simulator.advanceClock(bySeconds: 5)
            _ = try await Wire.get(simulator, "/me")
            try simulator.reset()
            #expect(simulator.token(token) == nil)
            #expect(simulator.person("ann")?.fields["name"] == "Ann Müller")
            #expect(simulator.now == SampleWorld.now)
            #expect(simulator.requests().isEmpty)
            #expect(try await Wire.get(simulator, "/me").status == 400)
            _ = try simulator.mint(.long, person: "ann", app: SampleWorld.otherApp)
        }
    }
}
