import org.json.JSONObject
import java.net.HttpURLConnection
import java.net.URL

/** The service refused: `code` and `reason` are for the app, `message` is for its developers. */
class FederationFailure(val status: Int, val code: Int, val reason: String, message: String) : Exception(message)

/** The user service of one application. Every call blocks: call it from a worker thread, not from the main one. */
class FederationClient(private val base: String) {   // "https://users.example.com/demo/KEY"

    /** Makes an account; it opens no session. */
    fun register(email: String, password: String): JSONObject =
        user("POST", "users/register", JSONObject().put("email", email).put("password", password))

    /** A user with `user-token`. */
    fun logIn(email: String, password: String): JSONObject =
        user("POST", "users/login", JSONObject().put("login", email).put("password", password))

    /** Returns the user with `user-token`. Facebook's SDK has [accessToken] in `AccessToken.getCurrentAccessToken()`. */
    fun logInWithFacebook(accessToken: String): JSONObject =
        user("POST", "users/loginWithFacebook", JSONObject().put("accessToken", accessToken))

    fun user(objectId: String, token: String): JSONObject = user("GET", "users/$objectId", token = token)

    fun isValid(token: String): Boolean = send("GET", "users/isvalidusertoken/$token") == "true"

    /** Ends the session; one that has ended already is no failure. */
    fun logOut(token: String) {
        try {
            send("GET", "users/logout", token = token)
        } catch (failure: FederationFailure) {
            if (failure.reason != "session_invalid") throw failure
        }
    }

    internal fun user(method: String, path: String, body: JSONObject? = null, token: String? = null) =
        JSONObject(send(method, path, body, token))

    internal fun send(method: String, path: String, body: JSONObject? = null, token: String? = null): String {
        val connection = URL("$base/$path").openConnection() as HttpURLConnection
        try {
            connection.requestMethod = method
            connection.connectTimeout = 10_000
            connection.readTimeout = 20_000
            if (token != null) connection.setRequestProperty("user-token", token)
            if (body != null) {
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.outputStream.use { it.write(body.toString().toByteArray()) }
            }
            val status = connection.responseCode
            if (status in 200..299) return connection.inputStream.bufferedReader().use { it.readText() }
            val text = connection.errorStream?.bufferedReader()?.use { it.readText() }.orEmpty()
            // What a proxy in between says is not the service's JSON.
            val problem = runCatching { JSONObject(text) }.getOrElse { JSONObject() }
            throw FederationFailure(
                status,
                problem.optInt("code"),
                problem.optJSONObject("errorData")?.optString("reason").orEmpty(),
                problem.optString("message", "The service answered $status."),
            )
        } finally {
            connection.disconnect()
        }
    }
}
