// Graph — what we ask of Facebook's Graph API, and how we read what it answers.
//
// Owns: everything that is asked of Facebook: about an access token (`debug_token` and `/me`), at a login and while nobody waits,
// the exchange of a code or of a token, the keys of ID tokens, the end of our permissions, the check of an app; the proof that
// goes with the questions, and the address of the login dialog, which a browser opens. Further the meaning of every error
// that Graph gives in our own reasons, and the manners towards Graph beyond those towards any provider (`Upstream`): what is asked
// again and how often, when the background asks nothing (`BackgroundGate`), how much of an app's allowance is used (`Usage`).
//
// Must not know: whether a login succeeds. It gathers `AccessTokenEvidence` and passes no verdict on it, and fetches keys and
// verifies nothing with them; that is Verification's. It knows neither mappings nor the database, and there is no branch in it
// for a simulated Graph.
//
// Nothing that Graph writes reaches a message: its texts can quote the token ("Malformed access token …"). They are only
// compared with known phrases; codes, and names in plain ASCII of bounded length, are all that is taken out of a reply's error.
internal import Upstream

extension UpstreamService {
    static let facebook = UpstreamService(name: "Facebook", api: "Graph")
}
