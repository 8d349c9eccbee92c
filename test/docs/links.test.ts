/** Documents point only at what is there, and the list of invariants is that of the source. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documents, project, text } from './blocks.ts'

test.each(documents())('%s -> every relative link has a file', (document) => {
  const links = [...text(document).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) => link)
  const missing = links.filter((link) => !existsSync(join(project, dirname(document), link)))
  expect(missing).toEqual([])
})

test('the architecture -> every file it names is there', () => {
  const named = [...text('docs/architecture.md').matchAll(/`(src\/[^`]+)`/g)].map(([, file = '']) => file)
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((file) => !existsSync(join(project, file)))).toEqual([])
})

describe('invariants', () => {
  const rows = [...text('docs/invariants.md').matchAll(/^\| (INV-\d+) \|.*\| ([^|]*) \| ([^|]*) \|$/gm)].map(
    ([, id = '', asserted = '', tested = '']) => ({ id, asserted, tested }),
  )

  test('numbered from 1, without gaps', () => {
    expect(rows.map(({ id }) => id)).toEqual(rows.map((_, i) => `INV-${i + 1}`))
  })

  test.each(rows)('$id -> its files are there, and the assertion bears its number', ({ id, asserted, tested }) => {
    const file = /`([^`]+)`/.exec(asserted)?.[1] ?? ''
    const test = /`([^`]+)`/.exec(tested)?.[1] ?? ''
    expect([existsSync(join(project, file)), existsSync(join(project, test))]).toEqual([true, true])
    if (asserted.startsWith('`')) expect(text(file)).toContain(`${id} `)
  })

  test('every number in the source is on the page', () => {
    const files = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
    )
    const used = new Set(files.flatMap((file) => text(`src/${file}`).match(/INV-\d+/g) ?? []))
    expect([...used].filter((id) => !rows.some((row) => row.id === id))).toEqual([])
  })
})
