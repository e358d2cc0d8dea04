// What Backendless' JavaScript SDK sends and reads, by fetch alone: register, log in, ask, change, log out, and log in with
// Facebook in both of the SDK's ways.
//
//     FEDERATION_BASE=http://127.0.0.1:8080/demo/KEY FACEBOOK_TOKEN=EAA… node session.mjs
//
// Prints a line a step and ends with 1 when a step does not give what it should. Needs Node.js 18 or later; the class works
// in a page, too.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'

/** A failure that the service answered with: `code` and `reason` are for programs, the message is for people. */
class Fault extends Error {
  constructor(status, { code, message, errorData } = {}) {
    super(message ?? `The service answered ${status}.`)
    Object.assign(this, { status, code, reason: errorData?.reason })
  }
}

/** The user service of one application, and the session of one person. */
class UserService {
  /** The base URL with application id and key, such as `https://users.example.com/demo/KEY`. */
  #base
  /** The user of the last login, with `user-token`. */
  user = null

  constructor(base) {
    this.#base = base
  }

  async #send(method, path, body) {
    const headers = {}
    if (this.user) headers['user-token'] = this.user['user-token']
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const reply = await fetch(`${this.#base}/${path}`, { method, headers, body: JSON.stringify(body) })
    // What a proxy in between says is not always JSON.
    if (!reply.ok) throw new Fault(reply.status, await reply.json().catch(() => ({})))
    const text = await reply.text()
    return text ? JSON.parse(text) : null
  }

  async #logIn(path, body) {
    this.user = await this.#send('POST', path, body)
    return this.user
  }

  register(user) {
    return this.#send('POST', 'users/register', user)
  }

  login(login, password) {
    return this.#logIn('users/login', { login, password })
  }

  loginWithFacebookSdk(accessToken, fieldsMapping) {
    return this.#logIn('users/social/facebook/sdk/login', { accessToken, fieldsMapping })
  }

  loginWithOauth2(provider, accessToken, guestUser, fieldsMapping) {
    return this.#logIn(`users/social/${provider}/login`, { accessToken, fieldsMapping, guestUser })
  }

  isValidLogin() {
    return this.#send('GET', `users/isvalidusertoken/${this.user['user-token']}`)
  }

  getCurrentUser() {
    return this.#send('GET', `data/Users/${this.user.objectId}`)
  }

  /** The whole object may go back as it came: what the service owns is passed over. */
  update(user) {
    return this.#send('PUT', `users/${user.objectId}`, user)
  }

  async logout() {
    try {
      await this.#send('GET', 'users/logout')
    } catch (fault) {
      // The session has ended already, which is what was wanted.
      if (fault.reason !== 'session_invalid') throw fault
    }
    this.user = null
  }
}

const users = new UserService(process.env.FEDERATION_BASE)
const email = `${randomUUID()}@example.com`
const password = 'four words of a song'

const registered = await users.register({ email, password, name: 'Ann', blUserLocale: 'en' })
assert.ok(!('user-token' in registered))
console.log('registered', registered.objectId)

await assert.rejects(users.register({ email, password }), { reason: 'login_taken', code: 3033, status: 409 })
await assert.rejects(users.login(email, 'guessed'), { reason: 'login_invalid', code: 3003, status: 401 })

const ann = await users.login(email, password)
assert.equal(ann.objectId, registered.objectId)
assert.equal(await users.isValidLogin(), true)
console.log('logged in', ann.objectId)

const changed = await users.update({ ...ann, name: 'Ann Other' })
assert.equal(changed.name, 'Ann Other')
assert.equal((await users.getCurrentUser()).name, 'Ann Other')
console.log('changed', ann.objectId)

await users.logout()
users.user = ann
assert.equal(await users.isValidLogin(), false)
await assert.rejects(users.getCurrentUser(), { reason: 'session_invalid', code: 3064, status: 401 })
console.log('logged out', ann.objectId)

// The dead session of Ann goes along with Bob's login, as the SDK sends it, and does no harm.
const bob = await users.loginWithFacebookSdk(process.env.FACEBOOK_TOKEN)
assert.equal(bob.socialAccount, 'FACEBOOK')
console.log('logged in with Facebook', bob.objectId)

const again = await users.loginWithOauth2('facebook', process.env.FACEBOOK_TOKEN)
assert.equal(again.objectId, bob.objectId)
assert.notEqual(again['user-token'], bob['user-token'])
await users.logout()
console.log('logged out', bob.objectId)
