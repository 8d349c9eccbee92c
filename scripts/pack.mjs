// Builds and packs the package into the folder given, beside and not in dist/, and prints the path of the tarball: what would be published.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('..', import.meta.url))
const alwaysPacked = ['package.json', 'README.md', 'LICENSE']

/** @param {string} folder where the tarball goes @returns {string} its path */
export function pack(folder) {
  const draft = mkdtempSync(join(tmpdir(), 'braidlake-pack-'))
  try {
    const tsc = join(project, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-p', join(project, 'tsconfig.build.json'), '--outDir', join(draft, 'dist')], {
      stdio: 'pipe',
    })
    const { files } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
    for (const file of [...alwaysPacked, ...files.filter((entry) => entry !== 'dist')]) {
      if (!existsSync(join(project, file))) continue
      mkdirSync(dirname(join(draft, file)), { recursive: true })
      cpSync(join(project, file), join(draft, file), { recursive: true })
    }
    mkdirSync(folder, { recursive: true })
    const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', resolve(folder)], {
      cwd: draft,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [{ filename }] = JSON.parse(packed.toString())
    return join(resolve(folder), filename)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(pack(process.argv[2] ?? '.'))
