/** What commands print: results on standard output, everything else on standard error. */
import { once } from 'node:events'
import { exactJson, formatVersion } from './exact-json.ts'

/** Waits where the reader is slower than we are. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** The one document of a command under `--json`. */
export async function printDocument(command: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  await print(`${exactJson({ formatVersion, command, ...fields })}\n`)
}

/** A reader that closes early (`braid query … | head`) ends us quietly. */
export function stopOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}
