import Glibc

/// The target named by `FEDERATION_FUZZ_TARGET`.
private let target: FuzzTarget = {
    let name = getenv("FEDERATION_FUZZ_TARGET").map { String(cString: $0) }
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        let names = FuzzTarget.all.map(\.name).joined(separator: ", ")
        print("FEDERATION_FUZZ_TARGET must be one of \(names). scripts/fuzz sets it.")
        exit(64)
    }
    return target
}()

/// The function that libFuzzer calls with every input; it ends the process at a broken promise.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        _ = try target.feed(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    } catch {
        fatalError("\(target.name): \(error)")
    }
}
