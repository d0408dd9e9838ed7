"""The training job of the commands in the pages: its batches take four times as long as its steps."""
import time

import stallscope


def images():
    for number in range(40):
        time.sleep(0.02)
        yield number


for batch in stallscope.loader(images()):
    time.sleep(0.005)
    stallscope.step()
