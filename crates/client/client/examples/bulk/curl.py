"""Downloads a URL twice over HTTP/3 with libcurl; prints the CPU time, wall-clock time and bytes of the second download.

usage: curl.py STACK_FOLDER URL AUTHORITIES
"""

import sys
import time

import pycurl


def main():
    _, _, url, authorities = sys.argv
    curl = pycurl.Curl()
    curl.setopt(curl.URL, url)
    curl.setopt(curl.CAINFO, authorities)
    curl.setopt(curl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_3ONLY)
    received = 0

    def take(piece):
        nonlocal received
        received += len(piece)

    curl.setopt(curl.WRITEFUNCTION, take)
    curl.perform()
    received, cpu_s, began_s = 0, time.process_time(), time.monotonic()
    curl.perform()
    print(time.process_time() - cpu_s, time.monotonic() - began_s, received)
    if curl.getinfo(pycurl.NUM_CONNECTS):
        sys.exit("the second download opened a connection")


main()
