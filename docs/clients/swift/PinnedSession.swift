#if canImport(Security)
import CryptoKit
import Foundation
import Security

final class PinnedSession: NSObject, URLSessionDelegate {
    /// Of the service's key and of the backup.
    private let pins: Set<String> = ["SERVICE_PIN", "BACKUP_PIN"]
    private let authority: SecCertificate
    private static let p256 = Data([
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ])

    init(authority: SecCertificate) { self.authority = authority }

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
            let trust = challenge.protectionSpace.serverTrust
        else { return (.performDefaultHandling, nil) }
        SecTrustSetAnchorCertificates(trust, [authority] as CFArray)
        SecTrustSetAnchorCertificatesOnly(trust, true)
        // The name, the chain and the dates first: a pin is no substitute for them.
        guard SecTrustEvaluateWithError(trust, nil),
            let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first,
            let key = SecCertificateCopyKey(leaf), let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?
        else { return (.cancelAuthenticationChallenge, nil) }
        let pin = Data(SHA256.hash(data: Self.p256 + bytes)).base64EncodedString()
        return pins.contains(pin) ? (.useCredential, URLCredential(trust: trust)) : (.cancelAuthenticationChallenge, nil)
    }
}
#endif
