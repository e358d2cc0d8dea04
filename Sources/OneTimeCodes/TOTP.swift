import Crypto
package import Domain
import Encodings

/// Computes and checks the codes of authenticator apps: one-time passwords by time (RFC 6238).
///
/// The codes use SHA-1, six digits and steps of 30 seconds, which every authenticator app supports.
package struct TOTP: Sendable {
    private let key: SymmetricKey

    /// Stores the secret from which the codes are computed.
    package init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    /// Decodes and stores the secret from which the codes are computed; nil if the text is not valid Base32.
    package init?(base32 text: Secret) {
        guard let secret = Base32.decode(text.reveal()), !secret.isEmpty else { return nil }
        self.init(secret: secret)
    }

    /// Generates a new secret from which the codes are computed: 160 random bits, as RFC 4226 §4 recommends.
    package init(_ random: RandomSource) { self.init(secret: random.bytes(20)) }

    /// The secret as Base32: the form that apps accept, and that the service stores encrypted.
    package var base32: Secret { Secret(key.withUnsafeBytes { Base32.encode(Array($0)) }) }

    /// Returns the number of the 30-second step that contains a time; step 0 begins at 1970.
    package static func step(at unixSeconds: Int64) -> Int64 {
        let (step, rest) = unixSeconds.quotientAndRemainder(dividingBy: 30)
        return rest < 0 ? step - 1 : step
    }

    /// Returns the code that an authenticator app shows in a 30-second step.
    package func code(step: Int64) -> String { digits(step: step).text }

    /// Returns the step whose code a user has typed; nil when no accepted step has that code.
    ///
    /// The current step, the one before and the one after are accepted, since clocks differ and users type slowly. A
    /// step is not accepted if it is `lastStep` or earlier. The caller stores the returned step as the next `lastStep`,
    /// so each step is single-use (RFC 6238 §5.2). If two accepted steps have the same code, the later one is returned;
    /// otherwise the user could use that code twice. All three codes are computed and compared in full, so the time
    /// does not reveal which one matched.
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

    /// Returns the code of a 30-second step.
    ///
    /// The number of a step before 1970 is negative. Its bits are then used as the unsigned counter.
    private func digits(step: Int64) -> SixDigits {
        SixDigits(lastOf: UInt64(HOTP.number(key: key, counter: UInt64(bitPattern: step))))
    }
}

extension TOTP {
    /// Returns the `otpauth:` URL that authenticator apps scan or open to add this secret.
    ///
    /// The Key URI format: https://github.com/google/google-authenticator/wiki/Key-Uri-Format.
    ///
    /// - Parameters:
    ///   - issuer: The name that apps display for the issuer of the secret, such as the application's name.
    ///   - account: The login name of the user. Colons separate issuer and account, so they are removed from both. Long
    ///     names are truncated, so that the QR code of the URL stays small.
    /// - Returns: The URL, which contains the secret.
    package func address(issuer: String, account: String) -> Secret {
        let issuer = PercentEncoding.encode(Self.label(issuer, atMost: 48))
        let account = PercentEncoding.encode(Self.label(account, atMost: 96))
        let (name, parameter) = issuer.isEmpty ? ("", "") : (issuer + ":", "&issuer=" + issuer)
        return Secret(
            "otpauth://totp/\(name)\(account)?secret=\(base32.reveal())\(parameter)&algorithm=SHA1&digits=6&period=30"
        )
    }

    /// Returns a text without colons and control characters, truncated to a number of bytes of UTF-8.
    private static func label(_ text: String, atMost max: Int) -> String {
        let words = text.unicodeScalars.split { scalar in
            scalar == ":" || scalar.properties.isWhitespace || scalar.properties.generalCategory == .control
        }
        var label = String.UnicodeScalarView()
        var count = 0
        for scalar in words.joined(separator: " ".unicodeScalars) {
            count += UTF8.width(scalar)
            guard count <= max else { break }
            label.append(scalar)
        }
        return String(label)
    }
}
