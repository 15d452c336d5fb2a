import sys
import threading

EMPLOYEES = 5000
PERIODS = 1200


def project_employee(number):
    gross = number * 37 + 1000
    withheld = 0
    for period in range(PERIODS):
        gross = (gross * 1103 + period) % 1000003
        withheld += gross // 7
    return withheld


def project_department(first, step, totals):
    total = 0
    for number in range(first, EMPLOYEES, step):
        total += project_employee(number)
    totals[first] = total


def main():
    departments = max(1, int(sys.argv[1])) if len(sys.argv) > 1 else 1
    totals = [0] * departments
    threads = [
        threading.Thread(target=project_department, args=(d, departments, totals))
        for d in range(departments)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("employees", EMPLOYEES, "withheld", sum(totals))


if __name__ == "__main__":
    main()
