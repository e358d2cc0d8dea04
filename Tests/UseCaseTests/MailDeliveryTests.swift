import Accounts
import Administration
import Applications
import Curl
import Domain
import FoundationEssentials
import Logging
import Messaging
import NIOConcurrencyHelpers
import Providers
import Secrets
import Store
import Testing
import TestSupport

@Suite("The delivery of mails, through a real SMTP server")
struct MailDeliveryTests {
    @Test("a mail arrives moments after it was enqueued, once, and nothing of it stays; at rest it is sealed")
    func arrives() async throws {
        try await PostOffice.lend { office in
            try await office.enqueue("a", to: "ann@example.com")
            try await office.enqueue("a", to: "ann@example.com")
            let stored = try await office.column("encode(content, 'escape')")
            #expect(stored.count == 1)
            #expect(stored.allSatisfy { !$0.contains("example") && !$0.contains("canary") })
            // For an hour only a notification makes the delivery look at the queue.
            try await office.delivering(every: .seconds(3600)) {
                try await eventually("the first arrives") { try await office.column("state") == ["sent"] }
                try await office.enqueue("b", to: "ann@example.com")
                try await eventually("so does one that is enqueued meanwhile") {
                    try await office.column("state") == ["sent", "sent"]
                }
            }
            // The server prints a mail after it has accepted the mail.
            try await eventually("the server has told of both") { try office.server.mails.count == 2 }
            let mails = try office.server.mails
            #expect(mails.map(\.to) == [["ann@example.com"], ["ann@example.com"]])
            #expect(mails.allSatisfy { $0.content.contains("https://users.example.com/canary") })
            #expect(try await office.column("octet_length(content)") == ["0", "0"])
            try await office.expectQuietLog()
        }
    }

    @Test("two instances side by side send every mail once")
    func sideBySide() async throws {
        try await PostOffice.lend { office in
            for number in 0..<40 { try await office.enqueue("e\(number)", to: "ann\(number)@example.com") }
            try await office.delivering {
                try await office.delivering {
                    try await eventually("all are sent") { try await Set(office.column("state")) == ["sent"] }
                }
            }
            let recipients = try office.server.mails.flatMap(\.to)
            #expect(recipients.count == 40)
            #expect(Set(recipients).count == 40)
        }
    }

    @Test("applications take turns: nobody's mails stand behind all those of another one")
    func turns() async throws {
        try await PostOffice.lend { office in
            let zoo = try await office.second("zoo")
            for number in 0..<9 {
                try await office.enqueue("e\(number)", to: "ann\(number)@example.com")
                try await zoo.enqueue("e\(number)", to: "zoe\(number)@example.com")
            }
            try await office.delivering(turn: .zero) {
                try await eventually("all are sent") {
                    try await Set(office.column("state") + zoo.column("state")) == ["sent"]
                }
            }
            func moments(_ office: PostOffice) async throws -> [Double] {
                try await office.column("extract(epoch from taken)").compactMap(Double.init).sorted()
            }
            let (ours, theirs) = (try await moments(office), try await moments(zoo))
            let (first, last) = (try #require(ours.first), try #require(ours.last))
            #expect(try first < #require(theirs.last) && #require(theirs.first) < last)
        }
    }

    @Test(
        "a no for now is tried again in a minute, a no for ever is the end, and what nobody knows about is never sent again"
    )
    func failures() async throws {
        try await PostOffice.lend { office in
            let cases = [
                ("busy-ann", "waiting", "450 4.2.1"), ("later-ann", "waiting", "451 4.3.0"),
                ("refused-ann", "failed", "550 5.1.1"), ("rejected-ann", "failed", "554 5.6.0"),
                ("dropped-ann", "uncertain", "no answer"),
            ]
            for (local, _, _) in cases { try await office.enqueue(local, to: "\(local)@example.com") }
            try await office.delivering {
                try await eventually("all have been tried") {
                    try await office.column("state", "state in ('waiting', 'sending') and problem is null").isEmpty
                }
            }
            for (local, state, problem) in cases {
                #expect(try await office.column("state", "event = '\(local)'") == [state])
                let found = try await office.column("problem", "event = '\(local)'")
                #expect(found.first?.contains(problem) == true && !found.contains { $0.contains("@") }, "\(found)")
            }
            let pauses = try await office.column("round(extract(epoch from due - now()) / 60)", "state = 'waiting'")
            #expect(pauses == ["1", "1"])
            try await office.database.psql("update \(office.schema).mails set due = now()")
            try await office.delivering {
                try await eventually("those that may be are tried again") {
                    try await office.column("attempts", "state = 'waiting' and due > now()") == ["2", "2"]
                }
            }
            #expect(
                try await office.column("round(extract(epoch from due - now()) / 60)", "state = 'waiting'") == [
                    "2", "2",
                ]
            )
            #expect(
                try office.server.mails.map { $0.outcome ?? "accepted" }.sorted() == [
                    "dropped", "later", "later", "rejected",
                ]
            )
            try await office.expectQuietLog()
        }
    }

    @Test("while the mail server is away mails wait, for a day")
    func away() async throws {
        try await PostOffice.lend { office in
            try await office.server.process.kill()
            try await office.enqueue("a", to: "ann@example.com")
            try await office.enqueue("b", to: "ann@example.com")
            try await office.database.psql(
                "update \(office.schema).mails set created = now() - interval '25 hours' where event = 'b'"
            )
            try await office.delivering {
                try await eventually("both have been tried") {
                    try await office.column("problem", "problem like '%could not connect%'").count == 2
                }
            }
            #expect(try await office.column("state", "event = 'a'") == ["waiting"])
            #expect(try await office.column("state", "event = 'b'") == ["failed"])
            let server = try await MailServer.start(port: office.server.port)
            try await office.database.psql("update \(office.schema).mails set due = now()")
            try await office.delivering {
                try await eventually("it is sent") { try await office.column("state", "event = 'a'") == ["sent"] }
            }
            #expect(try server.mails.count == 1)
            try await server.process.kill()
        }
    }

    @Test("a link whose time is over is not sent")
    func useless() async throws {
        try await PostOffice.lend { office in
            try await office.enqueue("a", to: "ann@example.com", minutes: 0)
            try await office.delivering {
                try await eventually("it is given up") { try await office.column("state") == ["failed"] }
            }
            #expect(try office.server.mails.isEmpty)
        }
    }

    @Test("a mail opens in its own row only: contents that were exchanged reach nobody")
    func exchanged() async throws {
        try await PostOffice.lend { office in
            try await office.enqueue("a", to: "ann@example.com")
            try await office.enqueue("b", to: "bob@example.com")
            let mails = "\(office.schema).mails"
            try await office.database.psql(
                "update \(mails) m set content = o.content from \(mails) o where o.event <> m.event"
            )
            try await office.delivering {
                try await eventually("both are given up") { try await office.column("state") == ["failed", "failed"] }
            }
            #expect(try office.server.mails.isEmpty)
        }
    }

    @Test("whoever stops brings to its end what is under way")
    func stop() async throws {
        try await PostOffice.lend { office in
            try await office.enqueue("a", to: "silent-ann@example.com")
            try await office.delivering {
                try await eventually("the server has it") { try !office.server.mails.isEmpty }
            }
            #expect(try await office.column("state") == ["uncertain"])
        }
    }

    @Test("without a mail server, and for what is no address, nothing is enqueued")
    func refused() async throws {
        try await PostOffice.lend { office in
            let off = try office.queue(mailer: nil)
            #expect(!off.canSendMail)
            let silent = try await failure { try await office.enqueue("a", to: "ann@example.com", by: off) }
            #expect(silent?.reason == .mailOff)
            for address in ["ann", "ann@example.com\r\nBcc: x@y.z", "a@b,c@d"] {
                let refused = try await failure { try await office.enqueue("a", to: address) }
                #expect(refused?.reason == .emailInvalid)
                #expect(refused.map { "\($0) \($0.cause ?? "")".contains(address) } == false)
            }
            #expect(try await office.column("state").isEmpty)
        }
    }

    @Test("secrets rotate encrypts the mails that wait, too")
    func rotated() async throws {
        try await PostOffice.lend { office in
            try await office.enqueue("a", to: "ann@example.com")
            let before = try await office.column("content_key_id")
            let both = try office.office.with(keys: [Office.newKey, Office.oldKey])
            #expect(try await both.secrets.rotate(by: Office.actor) { _ in } == 2, "the mail and the key of bans")
            #expect(try await office.column("content_key_id") != before)
            try await office.delivering(keys: [Office.newKey]) {
                try await eventually("it is sent") { try await office.column("state") == ["sent"] }
            }
            #expect(try office.server.mails.count == 1)
        }
    }
}

/// An application with one user, a mail server, and the delivery of mails to it.
private struct PostOffice {
    let office: Office
    let server: MailServer
    let schema: String
    let user: ObjectID
    let loaded: LoadedApplication
    let directory: ApplicationDirectory
    let log: CollectedLog

    var database: TestDatabase { office.database }

    static func lend(_ body: (PostOffice) async throws -> Void) async throws {
        let server = try await MailServer.start()
        try await Office.lend { office in
            try await office.makeKey(of: "demo")
            let log = CollectedLog()
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: try keys([Office.oldKey]),
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: Logger(label: "test") { _ in log }
            )
            try await directory.refresh()
            try await body(try await PostOffice("demo", of: office, server, directory, log))
        }
        try await server.process.kill()
    }

    private init(
        _ application: String,
        of office: Office,
        _ server: MailServer,
        _ directory: ApplicationDirectory,
        _ log: CollectedLog
    ) async throws {
        let loaded = try directory.application(id: application[...], key: "\(application)-key-0123456789").application
        let rows = try await office.database.psql(
            "insert into \(loaded.application.schema).users (object_id) values (gen_random_uuid()) returning object_id"
        )
        let user = try #require(rows.first?.first.flatMap { $0.flatMap(ObjectID.init) })
        (self.office, self.server, self.directory, self.log) = (office, server, directory, log)
        (self.loaded, self.user, schema) = (loaded, user, loaded.application.schema)
    }

    /// Creates another application of the same deployment.
    func second(_ application: String) async throws -> PostOffice {
        let document = try json(#"{"application": "\#(application)"}"#)
        _ = try await office.administration.applications.create(document, by: Office.actor)
        try await office.makeKey(of: application)
        try await directory.refresh()
        return try await PostOffice(application, of: office, server, directory, log)
    }

    private static func keys(_ texts: [String]) throws -> MasterKeys {
        MasterKeys(current: try MasterKey(base64: Secret(try #require(texts.first))))
    }

    private var mailer: Mailer {
        get throws {
            Mailer(
                templates: try .shipped(),
                sender: try Mailbox("no-reply@shop.example"),
                language: "en",
                carrier: .server(
                    try SMTPServer(url: server.plainURL),
                    client: try CurlClient(),
                    limits: MailLimits(call: .seconds(3), connect: .seconds(2))
                )
            )
        }
    }

    func queue(mailer: Mailer?) throws -> MailQueue {
        MailQueue(
            store: office.store,
            masterKeys: try Self.keys([Office.oldKey]),
            mailer: mailer,
            clock: .system,
            random: .system
        )
    }

    func enqueue(_ event: String, to address: String, minutes: Int = 30, by queue: MailQueue? = nil) async throws {
        let link = Secret("https://users.example.com/canary")
        try await (try queue ?? self.queue(mailer: try mailer)).enqueue(
            .passwordReset(link: link, minutes: minutes, name: "Ann"),
            event: event,
            to: address,
            locale: "de",
            user: user,
            of: loaded
        )
    }

    /// Delivers mails while the closure runs, and returns when the work under way has ended.
    func delivering(
        every interval: Duration = .milliseconds(200),
        turn: Duration = .seconds(2),
        keys: [String] = [Office.oldKey],
        _ body: () async throws -> Void
    ) async throws {
        let delivery = MailDelivery(
            store: office.store,
            directory: directory,
            masterKeys: try Self.keys(keys),
            mailer: try mailer,
            settings: .init(interval: interval, turn: turn),
            clock: .system,
            logger: Logger(label: "test") { _ in log }
        )
        let running = Task { await delivery.run() }
        do { try await body() } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        await running.value
    }

    /// Returns a column of the mails, in the order of their events.
    func column(_ expression: String, _ condition: String = "true") async throws -> [String] {
        try await database.psql("select \(expression) from \(schema).mails where \(condition) order by event")
            .compactMap { $0.first ?? nil }
    }

    /// Expects that the log mentions mails, but neither their recipients nor their contents.
    func expectQuietLog() async throws {
        let lines = log.lines.withLockedValue { $0 }
        #expect(lines.contains { $0.contains("mails") })
        #expect(!lines.contains { $0.contains("@") || $0.contains("example.com") || $0.contains("canary") }, "\(lines)")
    }
}

extension Office {
    fileprivate func makeKey(of application: String) async throws {
        let key = try json(#"{"label":"ios","key":"\#(application)-key-0123456789"}"#)
        _ = try await administration.keys.create(of: application, key, by: Office.actor)
    }
}

/// A log handler that keeps a line for each event.
private struct CollectedLog: LogHandler {
    let lines = NIOLockedValueBox<[String]>([])
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLockedValue { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
