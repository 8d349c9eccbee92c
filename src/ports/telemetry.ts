/** Silent by default. Attributes hold names, counts, versions and durations, never row values. */
export interface Telemetry {
  event(name: string, attributes: Readonly<Record<string, string | number | boolean>>): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, attributes?: Readonly<Record<string, unknown>>): void
}

export const silentTelemetry: Telemetry = { event() {}, log() {} }
