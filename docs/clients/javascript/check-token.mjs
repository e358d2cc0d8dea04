// Checks a signed token as a service of the application does, which knows nothing but the address of the published keys.
//
//     node check-token.mjs JWKS_URL ISSUER AUDIENCE <token
//
// Prints the claims, or ends with 1 and says what is wrong. JWKS_URL is ISSUER/.well-known/jwks.json, which has the keys of
// the one application, and AUDIENCE the application's id, unless its operator has chosen another. A service that runs for long keeps the keys for five minutes, and asks again, at most once a minute, when it meets a `kid`
// that it does not know.
// Needs Node.js 18 or later.

import { createPublicKey, verify } from 'node:crypto'
import { text } from 'node:stream/consumers'

/** How far the clocks of two machines may be apart, in seconds. */
const LEEWAY = 30

/** The claims of a token; throws when it does not count. */
function claimsOf(token, { keys, issuer, audience, now = Date.now() / 1000 }) {
  const parts = token.split('.')
  if (parts.length !== 3) throw new Error('this is no signed token')
  const [header, claims] = parts.slice(0, 2).map(part => JSON.parse(Buffer.from(part, 'base64url')))

  // The algorithm is ours to choose, never the token's.
  if (header.alg !== 'ES256') throw new Error('it is signed by another algorithm than ES256')
  const key = keys.find(key => key.kid === header.kid && key.kty === 'EC' && key.crv === 'P-256')
  if (!key) throw new Error('its key is not published')
  const isSigned = verify(
    'sha256',
    Buffer.from(`${parts[0]}.${parts[1]}`),
    { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(parts[2], 'base64url')
  )
  if (!isSigned) throw new Error('its signature is wrong')

  // Without these two a token that was made for somebody else would do.
  if (claims.iss !== issuer) throw new Error('somebody else has issued it')
  if (claims.aud !== audience) throw new Error('it is for somebody else')
  if (!(now < claims.exp + LEEWAY)) throw new Error('it has expired')
  return claims
}

const [url, issuer, audience] = process.argv.slice(2)
try {
  if (!audience) throw new Error('usage: check-token.mjs JWKS_URL ISSUER AUDIENCE <token')
  const reply = await fetch(url)
  if (!reply.ok) throw new Error(`the keys cannot be had: ${reply.status}`)
  const { keys } = await reply.json()
  const token = (await text(process.stdin)).trim()
  console.log(JSON.stringify(claimsOf(token, { keys, issuer, audience })))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
