import CMalloc
import ServiceLifecycle

/// At intervals, returns freed memory to the operating system, so that an instance shrinks after a burst of requests.
///
/// By itself, the allocator cannot return freed memory if even one small object at a higher address is still in use. So
/// an instance would keep the size that it had during the burst. No cheap test tells when a burst has ended, so the
/// service returns memory at every interval. That takes 0.1 ms for each MB of a heap of which half is free.
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
