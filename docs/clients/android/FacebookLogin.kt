import android.net.Uri
import android.util.Base64
import org.json.JSONObject
import java.security.MessageDigest
import java.security.SecureRandom

private fun base64Url(bytes: ByteArray) =
    Base64.encodeToString(bytes, Base64.URL_SAFE or Base64.NO_PADDING or Base64.NO_WRAP)

/** Makes the secret that ends this login. Keep the secret until then: Android may end the app behind the browser. */
fun makeVerifier(): String = base64Url(ByteArray(32).also { SecureRandom().nextBytes(it) })

/** The address to open: `startActivity(Intent(Intent.ACTION_VIEW, Uri.parse(address)))`, or a Custom Tab. */
fun FederationClient.facebookDialog(returnUrl: String, verifier: String): String {
    val challenge = base64Url(MessageDigest.getInstance("SHA-256").digest(verifier.toByteArray()))
    val body = JSONObject().put("redirectAfterLoginUrl", returnUrl).put("codeChallenge", challenge)
    return send("POST", "users/oauth/facebook/request_url", body)
}

/** A user with `user-token`; null when the user has cancelled or Facebook has refused: `end` has a `reason` then. */
fun FederationClient.finishLogin(end: Uri, verifier: String): JSONObject? {
    val code = end.getQueryParameter("loginCode") ?: return null
    val body = JSONObject().put("loginCode", code).put("codeVerifier", verifier)
    return user("POST", "users/loginWithFacebook", body)
}
