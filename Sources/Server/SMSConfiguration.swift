import Curl
import Logging
import Secrets
import Texting

/// How this deployment sends SMS.
struct SMSConfiguration: Sendable {
    var url: HTTPURL
    var secret: SigningSecret
    var limits: SMSLimits
    var curl: CurlConfiguration

    /// The gateway; connections to it are on a thread of their own.
    func gateway() throws(CurlError) -> SMSGateway {
        SMSGateway(
            url: url,
            secret: secret,
            client: try CurlClient(configuration: curl),
            limits: limits,
            clock: .system
        )
    }
}
