package import NIOCore

/// Runs the tasks that serve a connection on the connection's event loop.
///
/// One thread therefore reads a request, handles it and writes the response. Otherwise each step between the socket and
/// a task would wake a thread of Swift's pool, which takes longer than the step on a machine with few processors.
/// Blocking work has threads of its own. Long computations, such as writing a long list of users as JSON, run in
/// Swift's pool.
package final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
