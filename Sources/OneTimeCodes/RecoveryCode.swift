import Crypto
package import Domain
import Encodings

/// A single-use code that a user enters at a login in place of lost second factors: 80 random bits.
///
/// The service shows the code only once. The user should keep it on paper.
package struct RecoveryCode: Sendable {
    /// 16 characters of Crockford's Base32.
    private let characters: String

    /// Creates ten new recovery codes for a user.
    package static func ten(_ random: RandomSource) -> [RecoveryCode] { (0..<10).map { _ in RecoveryCode(random) } }

    private init(_ random: RandomSource) {
        characters = Base32.encode(random.bytes(10), in: Self.alphabet)
    }

    /// Parses a user's input; nil if it does not have the form of a recovery code, so that no database query is needed.
    ///
    /// Hyphens, spaces and the case of letters are ignored, and a letter that looks like a digit is read as that digit.
    package init?(typed text: String) {
        // Users type at most one separator per character, and a long text should not be copied.
        guard text.utf8.count <= 33 else { return nil }
        let separators = [UInt8(ascii: " "), UInt8(ascii: "-")]
        let characters = text.utf8.filter { !separators.contains($0) }.map(Self.canonical)
        guard characters.count == 16, characters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.characters = String(decoding: characters, as: UTF8.self)
    }

    /// The displayed form: `xxxx-xxxx-xxxx-xxxx`.
    package var text: Secret {
        var parts: [Substring] = []
        var rest = Substring(characters)
        while !rest.isEmpty {
            parts.append(rest.prefix(4))
            rest = rest.dropFirst(4)
        }
        return Secret(parts.joined(separator: "-"))
    }

    /// Returns the stored form: SHA-256 over the purpose, the user and the characters.
    ///
    /// A slow hash is not needed: 2^80 codes are too many to try, even at the speed of SHA-256.
    package func hash(of user: ObjectID) -> [UInt8] {
        Array(SHA256.hash(data: Array("federation: recovery code\n\(user)\n\(characters)".utf8)))
    }

    /// Crockford's alphabet, without I, L and O, which look like digits, and without U.
    ///
    /// Users copy a code from paper by hand, and may take a digit for a letter that looks like it. With this alphabet,
    /// the service knows which digit is meant. RFC 4648 has no rule for misread characters.
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private static func canonical(_ character: UInt8) -> UInt8 {
        switch character.asciiLowercased {
        case UInt8(ascii: "o"): UInt8(ascii: "0")
        case UInt8(ascii: "i"), UInt8(ascii: "l"): UInt8(ascii: "1")
        case let other: other
        }
    }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
