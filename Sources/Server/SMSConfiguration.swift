import Curl
import Domain
import Logging
import Messaging
import Secrets

/// The configuration of SMS.
struct SMSConfiguration: Sendable {
    var url: HTTPURL
    var secret: SigningSecret
    var limits: SMSLimits
    var curl: CurlConfiguration

    /// Creates the gateway's client; its connections have a thread of their own.
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
