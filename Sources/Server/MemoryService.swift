import CMalloc
import ServiceLifecycle

/// Returns free memory to the system after a burst of requests.
///
/// The allocator keeps freed memory. If a small live object lies behind the memory, the allocator keeps it for good. So
/// an instance that was once flooded would stay at the size of the flood. No cheap test tells when a burst is over, so
/// the memory is returned at every interval. That takes 0.1 ms for each MB of a heap of which half is free.
struct MemoryService: Service {
    private static let interval = Duration.seconds(20)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                malloc_trim(0)
            }
        }
    }
}
