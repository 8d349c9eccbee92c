import { expect, test } from 'vitest'
import { loadPackage } from './optional-package.ts'

const absent: string = 'a-package-that-nobody-has'

test('a package that is not installed -> SOURCE_FAILED that says what to install', async () => {
  await expect(loadPackage('a topic', 'some-client', '3', () => import(absent))).rejects.toMatchObject({
    code: 'SOURCE_FAILED',
    advice: 'Install it: npm install some-client@3',
    details: { source: 'a topic', package: 'some-client' },
  })
})

test('a package that fails while it loads -> its own error', async () => {
  await expect(loadPackage('a topic', 'c', '3', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
})
