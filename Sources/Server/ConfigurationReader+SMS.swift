import Curl
import Messaging
import Providers

extension ConfigurationReader {
    /// Reads the configuration for sending SMS; nil if SMS are off.
    mutating func sms() -> SMSConfiguration? {
        let (url, secret) = (value(SMSVariables.gateway), value(SMSVariables.secret))
        let authorities = value(SMSVariables.authorities)
        let limits = SMSLimits(call: value(TimeVariables.smsCall), connect: value(TimeVariables.smsConnect))
        switch (isSet(SMSVariables.gateway), isSet(SMSVariables.secret)) {
        case (false, true):
            problem(SMSVariables.gateway, "is not set, but \(SMSVariables.secret.name) is; set both")
        case (true, false):
            problem(
                SMSVariables.secret,
                "is not set, but \(SMSVariables.gateway.name) is; \(SMSVariables.secretForm)"
            )
        default: break
        }
        guard let url, let secret else { return nil }
        return SMSConfiguration(
            url: url,
            secret: secret,
            limits: limits,
            curl: CurlConfiguration(
                maxInFlight: 64,
                caFile: authorities ?? value(ProviderVariables.authorities),
                userAgent: "federation/" + FederationCommand.version
            )
        )
    }
}
