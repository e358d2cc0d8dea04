import Vocabulary

/// `settings.secondFactor` of an application document.
extension SecondFactorPolicy {
    private static let trustedDays: ClosedRange<Int64> = 0...30
    private static let mostNames = 100

    /// Reads the policy; what is absent keeps its default.
    init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            let value = member.value
            switch member.key {
            case "policy": problems.take(value, at: place, into: &demand)
            case "roles": roles = problems.texts(value, at: place, most: Self.mostNames) { _ in nil }
            case "vouchingProviders":
                let names = problems.texts(value, at: place, most: Self.mostNames) { name in
                    guard let provider = ProviderName(name), provider != .password else {
                        return "must be the name of a provider"
                    }
                    return nil
                }
                vouchingProviders = names.compactMap { ProviderName($0) }
            case "factors":
                let known = FactorKind.allCases.map(\.rawValue)
                let words = problems.texts(value, at: place, most: known.count) { word in
                    FactorKind(rawValue: word) == nil ? "must be one of " + known.joined(separator: ", ") : nil
                }
                factors = words.compactMap { FactorKind(rawValue: $0) }
                if Set(factors).count != factors.count { problems.add(place, "names a factor twice") }
            case "trustedDeviceDays":
                problems.take(value, at: place, into: &trustedDeviceDays, Self.trustedDays, "days")
            case "passkeys": passkeys = PasskeyPolicy(value, at: place, problems: &problems)
            case "sms": sms = SMSPolicy(value, at: place, problems: &problems)
            default:
                let known = SecondFactorPolicy().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of secondFactor")
            }
        }
    }

    /// What the parts say together: nobody is asked for what cannot be enrolled.
    func check(roles known: [String], at place: JSONPointer, problems: inout DocumentProblems) {
        for (index, role) in roles.enumerated() where !known.contains(where: { $0.hasSameBytes(as: role) }) {
            problems.add(place / "roles" / index, "is not among the roles")
        }
        if demand != .off, !factors.contains(where: \.standsAlone) {
            problems.add(place / "factors", "needs one beside recoveryCode, which only stands in for another")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.relyingPartyID == nil {
            problems.add(place / "passkeys" / "rpId", "must be the domain that passkeys are for")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.origins.isEmpty {
            problems.add(place / "passkeys" / "origins", "must name where passkeys are used")
        }
        if !passkeys.androidPackages.isEmpty, passkeys.certificateDigests.isEmpty {
            problems.add(
                place / "passkeys" / "origins",
                "must name the certificate of the apps for Android, as android:apk-key-hash:…"
            )
        }
        if factors.contains(.sms), sms.prefixes.isEmpty {
            problems.add(place / "sms" / "countries", "must name the numbers that get messages, such as +41")
        }
    }

    /// As it is stored and exported.
    var document: JSONValue {
        .object([
            "policy": .string(demand.rawValue), "roles": .array(roles.map(JSONValue.string)),
            "vouchingProviders": .array(vouchingProviders.map { .string($0.text) }),
            "factors": .array(factors.map { .string($0.rawValue) }),
            "trustedDeviceDays": .integer(trustedDeviceDays), "passkeys": passkeys.document, "sms": sms.document,
        ])
    }
}

extension PasskeyPolicy {
    private static let mostListed = 20

    fileprivate init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            let value = member.value
            switch member.key {
            case "rpId":
                guard !value.isNull else { break }
                if let text = value.string, SettingsDocument.isHostName(text) {
                    relyingPartyID = text
                } else {
                    problems.add(place, "must be a DNS name in lower case without port, like example.com")
                }
            case "origins":
                origins = problems.texts(value, at: place, most: Self.mostListed) { text in
                    SettingsDocument.isOrigin(text) || Self.isAppOrigin(text)
                        ? nil
                        : "must be an origin like https://app.example.com, or an app's like android:apk-key-hash:…"
                }
            case "userVerification": problems.take(value, at: place, into: &userVerification)
            case "login": problems.take(value, at: place, into: &isLoginMethod)
            case "androidPackages":
                androidPackages = problems.texts(value, at: place, most: Self.mostListed) { text in
                    Self.isPackage(text) ? nil : "must be the name of a package, like com.example.app"
                }
            case "appleApps":
                appleApps = problems.texts(value, at: place, most: Self.mostListed) { text in
                    Self.isAppleApp(text)
                        ? nil : "must be a team and a bundle id, like ABCDE12345.com.example.app"
                }
            default:
                let known = PasskeyPolicy().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of passkeys")
            }
        }
    }

    fileprivate var document: JSONValue {
        .object([
            "rpId": relyingPartyID.map(JSONValue.string) ?? .null,
            "origins": .array(origins.map(JSONValue.string)),
            "userVerification": .string(userVerification.rawValue), "login": .bool(isLoginMethod),
            "androidPackages": .array(androidPackages.map(JSONValue.string)),
            "appleApps": .array(appleApps.map(JSONValue.string)),
        ])
    }

    /// As Android names an app: by the SHA-256 of the certificate that signs it, as base64url.
    private static func isAppOrigin(_ text: String) -> Bool {
        text.hasPrefix(androidOrigin) && Base64URL.decode(text.utf8.dropFirst(androidOrigin.utf8.count))?.count == 32
    }

    /// Android's rule for the name of an application: two parts or more, each of which begins with a letter.
    private static func isPackage(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && parts.count > 1
            && parts.allSatisfy { part in
                part.first?.isASCIILetter == true
                    && part.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
            }
    }

    private static func isAppleApp(_ text: String) -> Bool {
        let (team, rest) = (text.utf8.prefix(10), text.utf8.dropFirst(10))
        let bundle = rest.dropFirst()
        return team.count == 10 && team.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter && $0 & 0x20 == 0 }
            && rest.first == UInt8(ascii: ".") && (1...155).contains(bundle.count)
            && bundle.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || [0x2D, 0x2E].contains($0) }
    }
}

extension SMSPolicy {
    private static let mostPrefixes = 250
    private static let counts: ClosedRange<Int64> = 1...1_000_000

    fileprivate init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            let value = member.value
            switch member.key {
            case "countries":
                prefixes = problems.texts(value, at: place, most: Self.mostPrefixes) { text in
                    Self.isPrefix(text) ? nil : "must be + and the first 1 to 14 digits of a number, like +41"
                }
            case "mostPerNumber": problems.take(value, at: place, into: &mostPerNumber, Self.counts, "messages")
            case "mostPerSource": problems.take(value, at: place, into: &mostPerSource, Self.counts, "messages")
            case "mostPerDay": problems.take(value, at: place, into: &mostPerDay, Self.counts, "messages")
            default:
                let known = SMSPolicy().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of sms")
            }
        }
    }

    fileprivate var document: JSONValue {
        .object([
            "countries": .array(prefixes.map(JSONValue.string)), "mostPerNumber": .integer(mostPerNumber),
            "mostPerSource": .integer(mostPerSource), "mostPerDay": .integer(mostPerDay),
        ])
    }

    private static func isPrefix(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (1...14).contains(digits.count)
            && digits.first != UInt8(ascii: "0") && digits.allSatisfy(\.isASCIIDigit)
    }
}
