/** Quoting of SQL text for DuckDB: the only two ways in which names and strings enter a statement. */

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
