/** A source that ends in peace when a signal fires: no batch is asked for behind the one that is being applied. */
import type { EventBatch, EventSource, ReadEvents } from '../relation/event-source.ts'

export function stoppable(source: EventSource, stop: AbortSignal): EventSource {
  return {
    name: source.name,
    read: (request) => readUntil(source, request, stop),
    acknowledge: (offset) => source.acknowledge(offset),
    lag: (offset) => source.lag(offset),
    close: () => source.close(),
  }
}

async function* readUntil(source: EventSource, request: ReadEvents, stop: AbortSignal): AsyncGenerator<EventBatch> {
  // Only a source that follows ends in peace when its signal fires; any other would take it for a failure.
  const signal = request.follow ? AbortSignal.any([stop, ...(request.signal ? [request.signal] : [])]) : request.signal
  if (stop.aborted) return
  for await (const batch of source.read({ ...request, signal })) {
    if (stop.aborted) return
    yield batch
    if (stop.aborted) return
  }
}
