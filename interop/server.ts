/** A server started by a script for the tests of a file, ended with them; also when the tests are killed, since its input closes then. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Server {
  readonly host: string
  readonly port: number
  stop(): Promise<void>
}

export async function startServer(script: 'start-kafka.sh' | 'start-postgres.sh'): Promise<Server> {
  const path = fileURLToPath(new URL(`../scripts/${script}`, import.meta.url))
  const child = spawn('bash', [path], { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (text: Buffer) => {
    complaints = `${complaints}${text.toString()}`.slice(-4000)
  })
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
  })
  const address = await Promise.race([
    firstAddress(child),
    ended.then(() => Promise.reject(new Error(`${script} ended:\n${complaints}`))),
  ])
  return {
    ...address,
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}

function firstAddress(child: ChildProcess): Promise<{ readonly host: string; readonly port: number }> {
  return new Promise((resolve) => {
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, host, port] = /^ready ([\d.]+):(\d+)$/.exec(line) ?? []
      if (host !== undefined) resolve({ host, port: Number(port) })
    })
  })
}
