import Glibc
import Import

/// A file with users to import, of any size, which is read in parts.
struct ImportFile {
    private static let partBytes = 262_144
    /// The maximum size in bytes of a file that is read into memory as a whole.
    private static let maxBytes = 67_108_864

    let path: String
    /// The size of the file in bytes.
    let bytes: Int
    private let device: dev_t
    private let number: ino_t

    /// Checks that the path leads to a regular file.
    ///
    /// - Throws: An exit code after printing the problem. A pipe is refused, because an import may read the file again.
    init(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw Exit.saying("\(path): cannot be read: \(Exit.systemError)", Exit.noInput)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Exit.saying("\(path): is not a plain file, which is needed to read it twice", Exit.noInput)
        }
        self.path = path
        bytes = Int(status.st_size)
        (device, number) = (status.st_dev, status.st_ino)
    }

    /// Returns whether another path leads to this file.
    func isFile(at path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_dev == device && status.st_ino == number
    }

    /// Returns the percentage of the file that a number of bytes is.
    func percent(of read: Int) -> Int { bytes == 0 ? 100 : min(100, 100 * read / bytes) }

    /// Returns a function that reads the file from the beginning, one part at each call.
    ///
    /// After the last part, the function returns an empty part.
    func open(telling position: @escaping (Int) -> Void = { _ in }) throws -> () throws -> [UInt8] {
        let reading = try Reading(path)
        return {
            let part = try reading.next()
            position(part.count)
            return part
        }
    }

    /// Reads the whole file into memory.
    func whole() throws -> [UInt8] {
        guard bytes <= Self.maxBytes else {
            throw Exit.saying("\(path): has more than \(Self.maxBytes) bytes; split it", Exit.dataError)
        }
        let read = try open()
        var all: [UInt8] = []
        while true {
            let part = try read()
            if part.isEmpty { return all }
            all += part
        }
    }

    /// Returns the SHA-256 of the file.
    func digest() throws -> [UInt8] {
        let read = try open()
        var digest = FileDigest()
        while true {
            let part = try read()
            if part.isEmpty { return digest.bytes }
            digest.add(part)
        }
    }

    /// An open file, which is closed when the last reference to this object is released.
    private final class Reading {
        private let path: String
        private let descriptor: Int32

        init(_ path: String) throws {
            self.path = path
            descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.unreadable(path) }
        }

        deinit {
            close(descriptor)
        }

        func next() throws -> [UInt8] {
            while true {
                var count = 0
                let part = [UInt8](unsafeUninitializedCapacity: ImportFile.partBytes) { buffer, filled in
                    count = read(descriptor, buffer.baseAddress, buffer.count)
                    filled = max(count, 0)
                }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.unreadable(path) }
                return part
            }
        }

        private static func unreadable(_ path: String) -> any Error {
            Exit.saying("\(path): cannot be read: \(Exit.systemError)", Exit.noInput)
        }
    }
}
