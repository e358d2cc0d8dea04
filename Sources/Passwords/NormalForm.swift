import Vocabulary
@_spi(_Unicode) import Swift

extension Secret {
    /// The UTF-8 bytes of the password in Unicode's form NFC: the keyboards of two devices may write one letter
    /// differently.
    ///
    /// The standard library has the form for its own comparisons and gives it out under this name only.
    var normalizedBytes: [UInt8] {
        var scalars = String.UnicodeScalarView()
        for scalar in reveal()._nfc { scalars.append(scalar) }
        return Array(String(scalars).utf8)
    }
}
