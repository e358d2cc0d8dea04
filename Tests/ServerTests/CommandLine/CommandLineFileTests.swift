import Foundation
import Testing
import TestSupport

@Suite("The file that -o names")
struct CommandLineFileTests {
    /// Lends an operator with an application, and a folder.
    private func withFolder(_ body: (CommandLineOperator, URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await body(ann, folder)
        }
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test("is made anew for its owner alone, whatever had its name and whoever has that open")
    func made() async throws {
        try await withFolder { ann, folder in
            let document = try await ann.succeed("export demo")
            let file = folder.appending(path: "demo.json")
            try await ann.succeed("export demo -o \(file.path)")
            #expect(try String(contentsOf: file, encoding: .utf8) == document)
            #expect(try mode(of: file) == 0o600)

            try Data("former".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file.path)
            let reader = try FileHandle(forReadingFrom: file)
            defer { try? reader.close() }
            let other = folder.appending(path: "other")
            try FileManager.default.linkItem(at: file, to: other)
            try await ann.succeed("export demo -o \(file.path)")
            #expect(try String(contentsOf: file, encoding: .utf8) == document)
            #expect(try mode(of: file) == 0o600)
            #expect(try String(decoding: reader.readToEnd() ?? Data(), as: UTF8.self) == "former")
            #expect(try String(contentsOf: other, encoding: .utf8) == "former")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.sorted() == ["demo.json", "other"], "nothing is left behind")
        }
    }

    @Test("is no link, folder, device or pipe, nor in a folder that there is not: 73, and nothing is changed")
    func refused() async throws {
        try await withFolder { ann, folder in
            let target = folder.appending(path: "target")
            try Data("former".utf8).write(to: target)
            let names = ["link", "dangling", "loop", "folder", "pipe"]
            let paths = names.map { folder.appending(path: $0).path }
            try FileManager.default.createSymbolicLink(atPath: paths[0], withDestinationPath: target.path)
            try FileManager.default.createSymbolicLink(atPath: paths[1], withDestinationPath: folder.path + "/none")
            try FileManager.default.createSymbolicLink(atPath: paths[2], withDestinationPath: paths[2])
            try FileManager.default.createDirectory(atPath: paths[3], withIntermediateDirectories: false)
            #expect(mkfifo(paths[4], 0o600) == 0)
            // Root gets a device of its own: with a broken check a document would replace the machine's.
            var device = "/dev/full"
            if geteuid() == 0 {
                device = folder.path + "/device"
                try #require(mknod(device, S_IFCHR | 0o666, dev_t(1 << 8 | 7)) == 0, "errno \(errno)")
            }
            for path in paths + [folder.path + "/none/demo.json", folder.path + "/new/", device] {
                let said = try await ann.fail("export demo -o \(path)", with: 73)
                #expect(said.contains(path), "\(said)")
            }
            #expect(try String(contentsOf: target, encoding: .utf8) == "former")
            let kind = try FileManager.default.attributesOfItem(atPath: device)[.type] as? FileAttributeType
            #expect(kind == .typeCharacterSpecial)
            let found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(found).subtracting(["device"]) == Set(names + ["target"]))
            #expect(try FileManager.default.contentsOfDirectory(atPath: paths[3]).isEmpty)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: paths[0]) == target.path)
        }
    }
}
