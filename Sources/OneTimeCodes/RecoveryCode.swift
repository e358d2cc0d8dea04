import Crypto
package import Vocabulary

/// What lets somebody in who has lost all other factors: 80 random bits, shown once, to be kept on paper.
package struct RecoveryCode: Sendable {
    /// 16 characters of Crockford's Base32.
    private let characters: String

    /// The ten that somebody gets at once.
    package static func ten(_ random: RandomSource) -> [RecoveryCode] { (0..<10).map { _ in RecoveryCode(random) } }

    private init(_ random: RandomSource) {
        characters = Base32.encode(random.bytes(10), in: Self.alphabet)
    }

    /// What somebody has typed; nil when it cannot be a code of ours, which saves asking the database.
    ///
    /// Hyphens, spaces and the case of letters do not count, and what looks like a digit is read as that digit.
    package init?(typed text: String) {
        // Nobody types more than one separator beside each character, and nothing long is to be copied.
        guard text.utf8.count <= 33 else { return nil }
        let separators = [UInt8(ascii: " "), UInt8(ascii: "-")]
        let characters = text.utf8.filter { !separators.contains($0) }.map(Self.canonical)
        guard characters.count == 16, characters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.characters = String(decoding: characters, as: UTF8.self)
    }

    /// As it is shown: `xxxx-xxxx-xxxx-xxxx`.
    package var text: Secret {
        var parts: [Substring] = []
        var rest = Substring(characters)
        while !rest.isEmpty {
            parts.append(rest.prefix(4))
            rest = rest.dropFirst(4)
        }
        return Secret(parts.joined(separator: "-"))
    }

    /// The form in which it is stored: SHA-256 over what it is, whose it is, and its characters.
    ///
    /// A hash that takes long would make no difference: 2^80 codes are too many to try, even at the speed of SHA-256.
    package func hash(of user: ObjectID) -> [UInt8] {
        Array(SHA256.hash(data: Array("federation: recovery code\n\(user)\n\(characters)".utf8)))
    }

    /// Crockford's alphabet, which has no I, L and O, as they look like digits, and no U.
    ///
    /// A code is copied by hand from paper, so what can be misread is read as what it must have been; RFC 4648's
    /// letters have no such rule.
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
