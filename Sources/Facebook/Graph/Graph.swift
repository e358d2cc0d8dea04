// The folder `Graph` asks Facebook's Graph API and reads what it answers.
//
// It gathers `AccessTokenEvidence` and passes no verdict on it, fetches keys and verifies nothing with them, and there
// is no branch in it for a simulated Graph. What is asked again and how often, when the background asks nothing
// (`BackgroundGate`), and how much of an app's allowance is used (`Usage`) goes beyond the manners towards any provider
// (`Upstream`).
//
// Nothing that Graph writes reaches a message: its texts can quote the token ("Malformed access token …"). They are
// only compared with known phrases; codes, and names in plain ASCII of bounded length, are all that is taken out of a
// reply's error.
import Upstream

extension UpstreamService {
    static let facebook = UpstreamService(name: "Facebook", api: "Graph")
}
