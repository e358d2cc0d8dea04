import Encodings
import Testing
import TestSupport
@testable import WebAuthn

@Suite("Options of both ceremonies")
struct CeremonyOptionsTests {
    private let known = PasskeyDescriptor(id: [1, 2, 3], transports: [.usb, .smartCard])

    @Test("creation", arguments: ResidentKey.allCases)
    func creation(residentKey: ResidentKey) throws {
        let options = Ceremonies.relyingParty(.preferred).creationOptions(
            challenge: [0xFB, 0xFF, 0xFE],
            user: PasskeyUser(handle: [0xFF], name: "ann@example.org", displayName: "Ann \"A.\""),
            excluding: [known],
            residentKey: residentKey,
            timeout: 300
        )
        let expected = """
            {"rp": {"id": "example.org", "name": "Example"},
             "user": {"id": "_w", "name": "ann@example.org", "displayName": "Ann \\"A.\\""},
             "challenge": "-__-",
             "pubKeyCredParams": [{"type": "public-key", "alg": -7}, {"type": "public-key", "alg": -8},
                                  {"type": "public-key", "alg": -257}],
             "timeout": 300000,
             "excludeCredentials": [{"type": "public-key", "id": "AQID", "transports": ["usb", "smart-card"]}],
             "authenticatorSelection": {"residentKey": "\(residentKey.rawValue)",
                                        "requireResidentKey": \(residentKey == .required),
                                        "userVerification": "preferred"},
             "attestation": "none", "extensions": {"credProps": true}}
            """
        #expect(JSONValue.object(options) == (try Ceremonies.json(expected)))
    }

    @Test("request", arguments: RelyingParty.UserVerification.allCases)
    func request(verification: RelyingParty.UserVerification) throws {
        let options = Ceremonies.relyingParty(verification).requestOptions(
            challenge: [0xFB, 0xFF, 0xFE],
            allowing: [known],
            timeout: 60
        )
        let expected = """
            {"challenge": "-__-", "rpId": "example.org", "timeout": 60000,
             "allowCredentials": [{"type": "public-key", "id": "AQID", "transports": ["usb", "smart-card"]}],
             "userVerification": "\(verification.rawValue)"}
            """
        #expect(JSONValue.object(options) == (try Ceremonies.json(expected)))
    }
}
