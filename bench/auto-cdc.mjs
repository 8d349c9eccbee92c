// AUTO CDC, both types: 2 M events in 100 batches of 20 k and in 5 of 400 k, beside one window query over all of them at once.
// Usage: node bench/auto-cdc.mjs [--type 2,1] [--files 1,20] [--batches N]
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine, projectRoot } from './bench-table.mjs'
import { eventCount, eventFiles, makeEvents, oneShot } from './cdc-events.mjs'
import { autoCdc, DeltaTable } from '../dist/index.js'

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`)
  return (at < 0 ? fallback : process.argv[at + 1]).split(',').map(Number)
}

console.log(describeMachine())
const files = await makeEvents()
const limit = option('batches', '1000')[0]
const full = limit >= eventFiles
const truth = full ? await oneShot(files) : undefined
if (truth) console.log(`one shot: type 2 ${Math.round(truth.type2Ms)} ms, type 1 ${Math.round(truth.type1Ms)} ms`)
const table = []
for (const type of option('type', '2,1')) {
  for (const perBatch of option('files', '1,20')) table.push(await flow(type, perBatch))
}
console.table(table)

async function flow(type, perBatch) {
  const target = join(projectRoot, `.braid/bench/cdc-target-${process.pid}`)
  const drop = () => {
    for (const path of [target, `${target}__cdc_state`]) rmSync(path, { recursive: true, force: true })
  }
  drop()
  const cdc = autoCdc({
    target,
    flow: 'bench',
    keys: ['id'],
    sequenceBy: 'seq',
    applyAsDeleteWhen: "op = 'D'",
    exceptColumns: ['seq', 'op'],
    storedAsScdType: type,
  })
  const times = []
  const cpu = process.cpuUsage()
  const started = performance.now()
  for (let file = 0; file < Math.min(files.length, limit * perBatch); file += perBatch) {
    const from = performance.now()
    await cdc.apply({ parquet: files.slice(file, file + perBatch) })
    times.push(performance.now() - from)
  }
  const seconds = (performance.now() - started) / 1000
  const used = process.cpuUsage(cpu)
  const events = times.length * perBatch * (eventCount / eventFiles)
  if (truth) await check(target, type, truth)
  await cdc.close()
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length
  const result = {
    type,
    batch: perBatch * (eventCount / eventFiles),
    eventsPerSecond: Math.round(events / seconds),
    cpuSeconds: Math.round((used.user + used.system) / 1e6),
    tenth: Math.round(mean(times.slice(8, 12))),
    last: Math.round(mean(times.slice(-4))),
    targetMiB: sizeOf(target),
    stateMiB: sizeOf(`${target}__cdc_state`),
    peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  }
  console.log(JSON.stringify(result), times.map(Math.round).join(' '))
  drop()
  return result
}

async function check(target, type, truth) {
  const open = await DeltaTable.open(target)
  const sql =
    type === 2
      ? 'SELECT count(*), count(*) FILTER (__END_AT IS NULL), sum(__START_AT), sum(__END_AT), sum(c2) FROM t'
      : 'SELECT count(*), sum(__cdc.sequence), sum(c2) FROM t'
  const [row] = await (await open.query(sql)).toArray()
  const found = Object.values(row).map(String).join(' ')
  const wanted = (type === 2 ? truth.type2 : truth.type1).join(' ')
  if (found !== wanted) throw new Error(`type ${type} is wrong: ${found} instead of ${wanted}`)
}

function sizeOf(folder) {
  const bytes = (path) =>
    readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
      const inside = join(path, entry.name)
      return sum + (entry.isDirectory() ? bytes(inside) : statSync(inside).size)
    }, 0)
  return Math.round(bytes(folder) / 2 ** 20)
}
