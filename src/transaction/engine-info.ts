/** Name and version as written into every commit; a house test holds it to package.json. */
export const engineVersion = '0.1.0'
export const engineInfo = `braidlake/${engineVersion}`
