"""Writes test/tables/counties with Spark: a small table shaped like daily county figures of the United States.

Usage: .peers/venv/bin/python scripts/make-counties.py [folder]

Figures are made up by a fixed seed; counties and their FIPS codes are real. Rows are unique by date, county and state. Two counties have
no FIPS code, as in tables of this kind a city that reports for several counties has none. Each of the four files holds a range of days.
"""
import glob
import os
import random
import shutil
import sys
from datetime import date, timedelta

from pyspark.sql import SparkSession

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DAYS = 122
FILES = 4
FIRST_DAY = date(2020, 3, 1)

COUNTIES = [
    ('New York City', 'New York', None), ('Kansas City', 'Missouri', None), ('Autauga', 'Alabama', 1001), ('Baldwin', 'Alabama', 1003),
    ('Jefferson', 'Alabama', 1073), ('Anchorage', 'Alaska', 2020), ('Maricopa', 'Arizona', 4013), ('Pima', 'Arizona', 4019),
    ('Benton', 'Arkansas', 5007), ('Pulaski', 'Arkansas', 5119), ('Alameda', 'California', 6001), ('Los Angeles', 'California', 6037),
    ('Orange', 'California', 6059), ('San Diego', 'California', 6073), ('Denver', 'Colorado', 8031), ('Fairfield', 'Connecticut', 9001),
    ('New Castle', 'Delaware', 10003), ('Broward', 'Florida', 12011), ('Miami-Dade', 'Florida', 12086), ('Orange', 'Florida', 12095),
    ('Cobb', 'Georgia', 13067), ('Fulton', 'Georgia', 13121), ('Honolulu', 'Hawaii', 15003), ('Ada', 'Idaho', 16001),
    ('Cook', 'Illinois', 17031), ('Lake', 'Illinois', 17097), ('Lake', 'Indiana', 18089), ('Marion', 'Indiana', 18097),
    ('Polk', 'Iowa', 19153), ('Johnson', 'Kansas', 20091), ('Jefferson', 'Kentucky', 21111), ('Orleans', 'Louisiana', 22071),
    ('Cumberland', 'Maine', 23005), ("Prince George's", 'Maryland', 24033), ('Middlesex', 'Massachusetts', 25017),
    ('Suffolk', 'Massachusetts', 25025), ('Wayne', 'Michigan', 26163), ('Hennepin', 'Minnesota', 27053), ('Hinds', 'Mississippi', 28049),
    ('St. Louis', 'Missouri', 29189), ('Yellowstone', 'Montana', 30111), ('Douglas', 'Nebraska', 31055), ('Clark', 'Nevada', 32003),
    ('Hillsborough', 'New Hampshire', 33011), ('Essex', 'New Jersey', 34013), ('Bernalillo', 'New Mexico', 35001),
    ('Doña Ana', 'New Mexico', 35013), ('Westchester', 'New York', 36119), ('Mecklenburg', 'North Carolina', 37119),
    ('Cass', 'North Dakota', 38017), ('Franklin', 'Ohio', 39049), ('Tulsa', 'Oklahoma', 40143), ('Multnomah', 'Oregon', 41051),
    ('Philadelphia', 'Pennsylvania', 42101), ('Providence', 'Rhode Island', 44007), ('Charleston', 'South Carolina', 45019),
    ('Minnehaha', 'South Dakota', 46099), ('Shelby', 'Tennessee', 47157), ('Harris', 'Texas', 48201), ('Travis', 'Texas', 48453),
    ('Salt Lake', 'Utah', 49035), ('Chittenden', 'Vermont', 50007), ('Fairfax', 'Virginia', 51059), ('King', 'Washington', 53033),
    ('Kanawha', 'West Virginia', 54039), ('Milwaukee', 'Wisconsin', 55079), ('Laramie', 'Wyoming', 56021),
]


def rows():
    chance = random.Random(20200301)
    for county, state, fips in COUNTIES:
        cases, deaths = chance.randrange(3), 0
        pace = chance.uniform(1.01, 1.04)
        for day in range(DAYS):
            cases = int(cases * pace) + chance.randrange(6)
            deaths = max(deaths, int(cases * chance.uniform(0.01, 0.03)))
            # Puerto Rico's deaths are unknown in tables of this kind; here they are for the first days of every county.
            yield ((FIRST_DAY + timedelta(days=day)).isoformat(), county, state, fips, cases, None if day < 2 else deaths)


def main():
    target = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, 'test/tables/counties'))
    shutil.rmtree(target, ignore_errors=True)
    spark = (
        SparkSession.builder.master('local[1]')
        .config('spark.jars', ','.join(sorted(glob.glob(os.path.join(ROOT, '.peers/jars/*.jar')))))
        .config('spark.sql.extensions', 'io.delta.sql.DeltaSparkSessionExtension')
        .config('spark.sql.catalog.spark_catalog', 'org.apache.spark.sql.delta.catalog.DeltaCatalog')
        .config('spark.ui.enabled', 'false')
        .config('spark.sql.session.timeZone', 'UTC')
        .getOrCreate()
    )
    schema = 'date string, county string, state string, fips int, cases int, deaths int'
    frame = spark.createDataFrame(list(rows()), schema)
    spark.conf.set('spark.sql.adaptive.enabled', 'false')
    frame.repartitionByRange(FILES, 'date').sortWithinPartitions('state', 'county', 'date').write.format('delta').save(target)
    spark.stop()
    for checksum in glob.glob(os.path.join(target, '**', '.*.crc'), recursive=True):
        os.remove(checksum)


main()
