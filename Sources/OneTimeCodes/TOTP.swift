import Crypto
package import Vocabulary

/// One-time passwords by the time of day (RFC 6238): SHA-1, six digits, 30 seconds, which is what every authenticator
/// app can do.
package struct TOTP: Sendable {
    private let key: SymmetricKey

    /// Of a secret that a factor has.
    package init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    /// Of a secret as it is written in ``base32``; nil when the text is none.
    package init?(base32 text: Secret) {
        guard let secret = Base32.decode(text.reveal()), !secret.isEmpty else { return nil }
        self.init(secret: secret)
    }

    /// Of a new secret: 160 random bits, as RFC 4226 §4 recommends.
    package init(_ random: RandomSource) { self.init(secret: random.bytes(20)) }

    /// The secret as apps take it, and as it is kept, sealed.
    package var base32: Secret { Secret(key.withUnsafeBytes { Base32.encode(Array($0)) }) }

    /// The step of 30 seconds that a moment is in; the first of 1970 is 0.
    package static func step(at unixSeconds: Int64) -> Int64 {
        let (step, rest) = unixSeconds.quotientAndRemainder(dividingBy: 30)
        return rest < 0 ? step - 1 : step
    }

    /// The code that an app shows in a step.
    package func code(step: Int64) -> String { digits(step: step).text }

    /// The step whose code somebody has typed: that of the moment, or the one before or after it, since clocks differ
    /// and people type slowly; nil when it is none of these, or has no step that is later than the last one that was
    /// taken.
    ///
    /// Whoever takes the code keeps the step, so that each is taken once (RFC 6238 §5.2). Of two steps with the same
    /// code it is the later one, or the code would be good twice. All three are computed and compared in full, so the
    /// time that it takes does not tell which it was.
    package func matchingStep(of code: String, at unixSeconds: Int64, after lastStep: Int64?) -> Int64? {
        guard let typed = SixDigits(typed: code) else { return nil }
        let current = Self.step(at: unixSeconds)
        var matching: Int64?
        for step in current - 1...current + 1 {
            let isSame = digits(step: step).isSame(as: typed)
            if isSame, step > lastStep ?? .min { matching = step }
        }
        return matching
    }

    /// A step before 1970 counts as the counter that has its bits.
    private func digits(step: Int64) -> SixDigits {
        SixDigits(lastOf: UInt64(HOTP.number(key: key, counter: UInt64(bitPattern: step))))
    }
}

extension TOTP {
    /// The address that apps scan or open, in the Key URI format
    /// (https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
    ///
    /// - Parameters:
    ///   - issuer: Who asks for the code, in words for people. Neither it nor the account can hold the colon that
    ///     parts them; both are cut where they are longer than apps show, so that the picture stays coarse.
    ///   - account: Whose code it is: what the user logs in with.
    /// - Returns: The address, which holds the secret.
    package func address(issuer: String, account: String) -> Secret {
        let issuer = PercentEncoding.encode(Self.label(issuer, atMost: 48))
        let account = PercentEncoding.encode(Self.label(account, atMost: 96))
        let (name, parameter) = issuer.isEmpty ? ("", "") : (issuer + ":", "&issuer=" + issuer)
        return Secret(
            "otpauth://totp/\(name)\(account)?secret=\(base32.reveal())\(parameter)&algorithm=SHA1&digits=6&period=30"
        )
    }

    /// A text without colons and control characters, in so many bytes of UTF-8.
    private static func label(_ text: String, atMost most: Int) -> String {
        let words = text.unicodeScalars.split { scalar in
            scalar == ":" || scalar.properties.isWhitespace || scalar.properties.generalCategory == .control
        }
        var label = String.UnicodeScalarView()
        var count = 0
        for scalar in words.joined(separator: " ".unicodeScalars) {
            count += UTF8.width(scalar)
            guard count <= most else { break }
            label.append(scalar)
        }
        return String(label)
    }
}
