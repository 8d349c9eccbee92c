// Everything a change must pass, in under a minute: two at a time, each with its time, all failures shown.
import { spawn } from 'node:child_process'

const steps = [
  ['types', 'npm run -s types'],
  ['fast tests', 'npm run -s test:fast'],
  ['lint', 'npm run -s lint'],
  ['format', 'npm run -s format:check'],
  ['layers', 'npm run -s layers'],
  ['dead code', 'npm run -s dead'],
  ['package', 'npm run -s build && npm run -s package'],
  ['errors page', 'node scripts/generate-errors-doc.mjs --check'],
  ['grammar', 'node scripts/generate-parser.mjs --check'],
]
const inFlight = 2

const started = performance.now()
const failed = []

function run([name, command]) {
  const from = performance.now()
  return new Promise((done) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (text) => (output += text))
    child.stderr.on('data', (text) => (output += text))
    child.on('close', (code) => {
      const seconds = ((performance.now() - from) / 1000).toFixed(1)
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(12)} ${seconds.padStart(5)} s`)
      if (code !== 0) failed.push(`--- ${name}: ${command}\n${output}`)
      done()
    })
  })
}

const queue = [...steps]
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) await run(step)
  }),
)
for (const text of failed) console.error(text)
console.log(
  `${failed.length === 0 ? 'all passed' : `${failed.length} failed`} in ${((performance.now() - started) / 1000).toFixed(1)} s`,
)
process.exit(failed.length === 0 ? 0 : 1)
