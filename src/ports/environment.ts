/** What core layers need of the world besides storage and planes; injected, so that tests and simulations decide it. */
export interface Environment {
  /** Milliseconds since the epoch, UTC. */
  nowMs(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** A fresh random UUID, lower case with dashes. */
  uuid(): string
  /** Uniform in [0, 1). Only for jitter. */
  random(): number
  /** SHA-256 in hexadecimal, lower case. */
  sha256(bytes: Uint8Array): string
}
