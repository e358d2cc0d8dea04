"""The part of scripts/passkey-judge that asks other libraries: py_webauthn and fido2 judge the same responses as we do."""

import argparse
import fnmatch
import json
import re
import sys

from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.utils import websafe_decode
from fido2.webauthn import Aaguid, AttestedCredentialData, PublicKeyCredentialRpEntity
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers import decode_credential_public_key
from webauthn.helpers.decoded_public_key_to_cryptography import decoded_public_key_to_cryptography
from webauthn.helpers.cose import COSEAlgorithmIdentifier

ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]


def py_webauthn(case):
    """What py_webauthn says: raises where it refuses. A key that cannot be loaded is a passkey that never works."""
    common = {
        "credential": case["response"],
        "expected_challenge": websafe_decode(case["challenge"]),
        "expected_rp_id": case["rpId"],
        "expected_origin": case["origins"],
        "require_user_verification": case["isUserVerificationRequired"],
    }
    if "publicKey" in case:
        verify_authentication_response(
            **common,
            credential_public_key=websafe_decode(case["publicKey"]),
            credential_current_sign_count=case["signCount"],
        )
    else:
        registered = verify_registration_response(**common, supported_pub_key_algs=ALGORITHMS)
        decoded_public_key_to_cryptography(decode_credential_public_key(registered.credential_public_key))


def fido2(case):
    """What fido2 says: raises where it refuses."""
    server = Fido2Server(PublicKeyCredentialRpEntity(name="Example", id=case["rpId"]), verify_origin=case["origins"].__contains__)
    verification = "required" if case["isUserVerificationRequired"] else "discouraged"
    state = {"challenge": case["challenge"], "user_verification": verification}
    response = json.loads(case["response"])
    if "publicKey" in case:
        key = CoseKey.parse(cbor.decode(websafe_decode(case["publicKey"])))
        credential = AttestedCredentialData.create(Aaguid.NONE, websafe_decode(case["credentialId"]), key)
        server.authenticate_complete(state, [credential], response)
    else:
        data = server.register_complete(state, response)
        key = data.credential_data.public_key
        if key.ALGORITHM not in ALGORITHMS:
            raise ValueError("not offered")


JUDGES = {"py_webauthn": py_webauthn, "fido2": fido2}


def verdict(judge, case):
    try:
        judge(case)
    except Exception:
        return False
    return True


def differences(page):
    """The rows of the table of differences: which cases, and who says otherwise than we do."""
    rows = []
    for line in open(page, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.match(r"`(registration|assertion|vector): ", cells[0]):
            rows += [(pattern, cells[1]) for pattern in re.findall(r"`([^`]+)`", cells[0])]
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--page", required=True)
    arguments = parser.parse_args()

    rows, used, wrong, asked = differences(arguments.page), set(), [], 0
    changed = {"taken": 0, "refused": 0, "refused by us alone": 0}
    for line in open(arguments.cases, encoding="utf-8"):
        case = json.loads(line)
        ours = case["verdict"] is None
        theirs = {name: verdict(judge, case) for name, judge in JUDGES.items()}
        asked += 1
        if case["name"].startswith("changed: "):
            # Of what is broken by chance we may refuse more than others, never less than all of them.
            if ours and not any(theirs.values()):
                wrong.append(f"{case['name']}: taken by us alone: {case['response']}")
            changed["taken" if ours else "refused by us alone" if all(theirs.values()) else "refused"] += 1
            continue
        for name, their in theirs.items():
            row = next(((pattern, who) for pattern, who in rows if name in who and fnmatch.fnmatchcase(case["name"], pattern)), None)
            if their != ours and row is None:
                wrong.append(f"{case['name']}: {name} {'takes' if their else 'refuses'} it, we say {case['verdict'] or 'right'}")
            elif their != ours:
                used.add((row, name))
            elif row is not None and "*" not in row[0]:
                wrong.append(f"{case['name']}: {name} agrees, against the table")
    wrong += [f"{pattern}: nothing in it is judged otherwise by {name}" for pattern, who in rows for name in JUDGES if name in who and ((pattern, who), name) not in used]
    print("\n".join(wrong))
    print(f"{asked} cases, judged by us and by {' and '.join(JUDGES)}; changed ones: {changed}; {len(rows)} rows of differences")
    sys.exit(1 if wrong or asked < 4000 or not changed["taken"] else 0)


main()
